import { useEffect } from "preact/hooks";
import { tenant } from "../net/api";
import { fleet, link, startFleet, version } from "../state/live";
import { FleetMap } from "./map";
import { Notice } from "./parts";
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
  return (
    <>
      <Tiles states={fleet.states} counts={fleet.counts} silent={fleet.silentCounts} />
      <div class={`floor ${fleet.partial ? "no-map" : ""}`}>
        <TroubleList />
        {!fleet.partial && <FleetMap />}
      </div>
    </>
  );
}

function Waiting() {
  if (link.value.phase === "failed") return null; // the banner says it
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

const example = `curl -H 'Content-Type: application/json' \\
  -d '{"device":"press-7","state":"WARNING1","message":"overheat"}' \\
  ${location.origin}/api/v1/events`;

function NoDevices() {
  return (
    <Notice kind="empty">
      <h2>No device has reported yet</h2>
      <p>It appears here by itself with its first event. To send one:</p>
      <pre>{example}</pre>
      <p>
        <a href="/docs" target="_blank">
          How devices report
        </a>
      </p>
    </Notice>
  );
}
