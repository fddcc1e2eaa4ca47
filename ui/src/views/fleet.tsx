import { useEffect } from "preact/hooks";
import { tenant } from "../net/api";
import { tokenRequired } from "../net/session";
import { fleet, link, startFleet, version } from "../state/live";
import { collected } from "../state/poll";
import { FirstIncidents } from "./incidents";
import { FleetMap } from "./map";
import { Blank, countText, Notice } from "./parts";
import { Tiles } from "./tiles";
import { TroubleList } from "./trouble";

/** What is wrong, since when, and who has it. */
export function FleetView() {
  useEffect(startFleet, [tenant.value]);
  version.value;
  return (
    <main id="main" class="fleet" data-view="fleet">
      <h1 class="sr" tabIndex={-1}>
        Fleet
      </h1>
      {fleet.generation === 0 ? <Waiting /> : fleet.size === 0 && !fleet.partial ? <NoDevices /> : <Floor />}
    </main>
  );
}

function Floor() {
  version.value;
  return (
    <>
      <Tiles states={fleet.states} counts={fleet.counts} silent={fleet.silentCounts} />
      <FirstIncidents />
      <div class="floor">
        <TroubleList />
        {fleet.partial ? <MapComes /> : <FleetMap />}
      </div>
    </>
  );
}

/** In the place of the map, while a server without a feed is asked for all devices page by page. */
function MapComes() {
  const total = fleet.counts.reduce((sum, n) => sum + n, 0);
  return (
    <section class="map" aria-label="Map">
      <h2>All devices</h2>
      <Notice kind="loading">
        {countText(collected.value)} of {countText(total)} devices have been asked for…
      </Notice>
    </section>
  );
}

function Waiting() {
  if (link.value.phase === "failed") return <Failed />;
  return (
    <>
      <ul class="tiles" aria-hidden="true">
        {[0, 1, 2, 3].map((i) => (
          <li key={i} class="tile ghost" />
        ))}
      </ul>
      <Notice kind="loading">Loading the fleet…</Notice>
    </>
  );
}

/** What to type to send an event here, in the words of a shell. */
function example(): string {
  const quoted = `'${tenant.value.replaceAll("'", `'\\''`)}'`;
  const options = [
    "-H 'Content-Type: application/json'",
    ...(tokenRequired.value ? [`-H "Authorization: Bearer $(cat token)"`] : []),
    ...(tenant.value === "default" ? [] : [`-H Andon-Tenant:${quoted}`]),
    `-d '{"device":"press-7","state":"WARNING1","message":"overheat"}'`,
  ];
  return ["curl", ...options, `${location.origin}/api/v1/events`].join(" \\\n  ");
}

function NoDevices() {
  return (
    <Blank title="No device has reported yet">
      <p>It appears here by itself with its first event. To send one:</p>
      <pre>{example()}</pre>
      <p>
        <a href="/docs" target="_blank">
          How devices report
        </a>
      </p>
    </Blank>
  );
}

function Failed() {
  const { why } = link.value;
  return (
    <Blank title="The fleet can't be shown" bad>
      <p data-testid="failed">{why}.</p>
      <p>The board tries again by itself, every few seconds.</p>
    </Blank>
  );
}
