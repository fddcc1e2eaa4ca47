import { useEffect, useRef, useState } from "preact/hooks";
import { newest, waiting, type Incident } from "../model/incidents";
import { clockTime, dayName, duration, zoneName } from "../model/time";
import { tenant } from "../net/api";
import { keepsIncidents } from "../net/session";
import { now } from "../state/clock";
import { want } from "../state/details";
import { changes, counts, followCounts } from "../state/incidents";
import { alarms, fleet, isNew, link, startFleet, version } from "../state/live";
import { query } from "../state/route";
import { incidentsEvery, Lasts } from "./incidents";
import { FleetMap } from "./map";
import { usePages } from "./pages";
import { Age, Ahead, countText, EscalationText, incidentLook, InMaintenance, Sign, stateColours } from "./parts";
import { Tiles } from "./tiles";
import { Announcer } from "./announcer";
import { PictureAge } from "./banner";

const usualSeconds = 12;
/** Of these pages the list has at most so many: the rest is too mild to be shown in turn. */
const mostPages = 5;

/** For a television: no controls, large, in turn the list and the map. */
export function Wall() {
  useEffect(startFleet, [tenant.value]);
  useAwake();
  version.value;
  const [rows, list] = useRowsThatFit();
  const pages = Math.min(mostPages, Math.max(1, Math.ceil(fleet.trouble.size / rows)));
  const only = query.value.show; // "trouble" or "map": for a hall with a television for each
  const scenes = fleet.partial || only === "trouble" ? pages : pages + 1;
  const scene = useScene(scenes);
  const onMap = !fleet.partial && (only === "map" || scene >= pages);
  const old = link.value.phase === "lost" || link.value.phase === "failed";
  return (
    <main id="main" class={`wall ${old ? "old" : ""}`} data-view="wall" data-scene={onMap ? "map" : "trouble"}>
      <h1 class="sr">Wall</h1>
      <WallHead />
      {old && <WallLost />}
      {fleet.generation > 0 ? (
        <>
          <Tiles states={fleet.states} counts={fleet.counts} silent={fleet.silentCounts} />
          {keepsIncidents.value && <WallIncidents />}
          <div class="scene" ref={list}>
            {onMap ? <FleetMap tall /> : <WallList from={scene * rows} to={(scene + 1) * rows} />}
          </div>
        </>
      ) : (
        <div class="scene waiting">{link.value.phase === "loading" && "Loading the fleet…"}</div>
      )}
      <footer>
        {Array.from({ length: only === "map" ? 0 : scenes }, (_, i) => (
          <i key={i} class={i === scene ? "here" : ""} />
        ))}
        <span class="turn">
          {onMap ? "all devices" : pages > 1 ? `not normal, ${scene + 1} of ${pages}` : "not normal"}
        </span>
      </footer>
      <Announcer />
    </main>
  );
}

function WallHead() {
  version.value;
  const at = new Date(now.value);
  return (
    <header class="wall-head">
      <span class="brand">
        <span class="lamp" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
        <bdi>{tenant.value === "default" ? "Andon" : tenant.value}</bdi>
      </span>
      <span class="total">{fleet.partial ? "" : `${countText(fleet.size)} devices`}</span>
      <span class="date">{dayName(at)}</span>
      <time class="clock" data-testid="clock" dateTime={at.toISOString()}>
        {clockTime(at)}
      </time>
      <span class="zone">{zoneName(at)}</span>
    </header>
  );
}

function WallLost() {
  const { phase, why } = link.value;
  return (
    <div class="banner lost" role="alert" data-testid="lost">
      {phase === "lost" ? (
        <>
          <b>No connection to the server.</b> This picture is <PictureAge /> old.
        </>
      ) : (
        <>
          <b>The fleet can't be shown.</b> {why}.
        </>
      )}{" "}
      Trying again.
    </div>
  );
}

/** How many incidents stay in sight, whatever the scene below them is. */
const mostWaiting = 3;
const ofThem = { status: "unacknowledged", limit: String(mostWaiting) };

/** What nobody has acknowledged: the severest and longest, and how many there are. */
function WallIncidents() {
  useEffect(followCounts, [tenant.value]);
  const { items } = usePages<Incident>("/incidents", ofThem, incidentsEvery, changes);
  const n = counts.value ? waiting(counts.value) : 0;
  if (n === 0) return null;
  return (
    <section class="wall-incidents" aria-label="To be acknowledged">
      <p>
        <b data-testid="waiting" data-count={n}>
          {countText(n)}
        </b>{" "}
        to be acknowledged
      </p>
      <ol class="wall-list">
        {items.slice(0, mostWaiting).map((i) => (
          <WallIncident key={i.id} of={i} />
        ))}
      </ol>
    </section>
  );
}

function WallIncident({ of: i }: { of: Incident }) {
  const def = incidentLook(i);
  const { text, by } = newest(i);
  return (
    <li data-incident={i.id} data-status={i.status} style={stateColours(def)}>
      <Sign def={def} />
      <span class="id">
        <bdi>{i.device}</bdi>
      </span>
      <Lasts of={i} />
      <span class="has">{i.operator ? <bdi>{i.operator}</bdi> : <span class="none">no operator</span>}</span>
      <span class="c-message" dir="auto">
        {by ? (
          <>
            <q>{text}</q> <bdi>{by}</bdi>
          </>
        ) : (
          text
        )}
      </span>
    </li>
  );
}

function WallList({ from, to }: { from: number; to: number }) {
  version.value;
  alarms.value;
  const cells = fleet.trouble.slice(from, to);
  useEffect(() => want(cells), [version.value, from, to]);
  if (fleet.trouble.size === 0) {
    return (
      <div class="all-normal">
        <span class="mark" aria-hidden="true">
          ●
        </span>
        <p>All devices are normal.</p>
      </div>
    );
  }
  return (
    <ol class="wall-list" aria-label="Not normal" style={{ gridTemplateRows: `repeat(${to - from}, 1fr)` }}>
      {cells.map((cell) => {
        const [id, def, detail] = [fleet.ids[cell], fleet.states[fleet.state[cell]], fleet.details.get(cell)];
        const silent = fleet.silent[cell] === 1;
        return (
          <li
            key={id}
            data-device={id}
            data-state={def.name}
            class={`${isNew(id) ? "new" : ""} ${silent ? "silent" : ""}`}
            style={stateColours(def)}
          >
            <Sign def={def} />
            <span class="id">
              <bdi>{id}</bdi> <InMaintenance by={detail?.maintenance} /> <Ahead time={detail?.time} />
            </span>
            <Age since={fleet.since[cell] * 1000} />
            <span class="has">
              {detail && (detail.operator ? <bdi>{detail.operator}</bdi> : <span class="none">no operator</span>)}
              {detail?.escalatedTo && (
                <>
                  {" "}
                  <span class="arrow">↑</span> <bdi>{detail.escalatedTo}</bdi>
                </>
              )}
            </span>
            <span class="c-message">
              {detail?.escalation && <EscalationText of={detail.escalation} />}
              <span class="message" dir="auto">
                {silent ? `silent${detail?.heard ? ` for ${silence(detail.heard)}` : ""}` : detail?.message}
              </span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const silence = (heard: string) => duration((now.value - Date.parse(heard)) / 1000);

/**
 * Which scene is shown: in turn, and back to the worst when there is new trouble; in a storm not
 * before all have had their turn.
 */
function useScene(scenes: number): number {
  const [scene, setScene] = useState(0);
  const every = Math.max(3, Number(query.value.every) || usualSeconds) * 1000;
  const count = useRef(scenes);
  count.current = scenes;
  const jumped = useRef(0);
  const trouble = alarms.value.length > 0;
  useEffect(() => {
    if (!trouble || Date.now() - jumped.current < count.current * every) return;
    jumped.current = Date.now();
    setScene(0);
  }, [trouble]);
  useEffect(() => {
    const timer = setInterval(() => setScene((s) => (s + 1) % count.current), every);
    return () => clearInterval(timer);
  }, [every]);
  return scene % scenes;
}

/** How many rows of the list fit below the tiles. */
function useRowsThatFit() {
  const [rows, setRows] = useState(8);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const measure = () => {
      const scene = ref.current;
      if (!scene) return;
      const row = parseFloat(getComputedStyle(scene).getPropertyValue("--wall-row"));
      const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
      setRows(Math.max(1, Math.floor(scene.clientHeight / (row * rem))));
    };
    const observer = new ResizeObserver(measure);
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, [fleet.generation > 0]);
  return [rows, ref] as const;
}

/** A television must not fall asleep; where the browser can't promise it, its own settings decide. */
function useAwake(): void {
  useEffect(() => {
    let lock: WakeLockSentinel | undefined;
    const take = async () => {
      try {
        if (!document.hidden) lock = await navigator.wakeLock?.request("screen");
      } catch {
        // Not allowed here.
      }
    };
    void take();
    document.addEventListener("visibilitychange", take);
    return () => {
      document.removeEventListener("visibilitychange", take);
      void lock?.release();
    };
  }, []);
}
