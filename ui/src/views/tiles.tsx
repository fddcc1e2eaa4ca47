import { tilesOf, type StateDef, type Tile } from "../model/states";
import { duration } from "../model/time";
import { now } from "../state/clock";
import { alarms, fleet, version } from "../state/live";
import { link } from "../state/route";
import type { CSSProperties } from "preact";
import { countText, stateColours } from "./parts";

interface Counts {
  states: StateDef[];
  counts: ArrayLike<number>;
  silent: ArrayLike<number>;
}

/** How many devices are in each state: the severest first, and the larger the worse. */
export function Tiles({ states, counts, silent }: Counts) {
  version.value;
  const tiles = tilesOf(states, counts, silent);
  const worst = tiles.find((t) => t.def.severity > 0 && t.count > 0);
  const silentTotal = tiles.reduce((sum, t) => sum + t.silent, 0);
  return (
    <ul class="tiles" aria-label="Devices by state">
      {tiles.map((t) => (
        <StateTile key={t.def.name} tile={t} rank={rankOf(t, worst)} />
      ))}
      {silentTotal > 0 && <SilentTile count={silentTotal} />}
    </ul>
  );
}

function rankOf(t: Tile, worst: Tile | undefined): string {
  if (t.def.severity === 0) return "well";
  if (t.count === 0) return "none";
  return t === worst ? "worst" : "bad";
}

function StateTile({ tile: { def, index, count }, rank }: { tile: Tile; rank: string }) {
  const rising = alarms.value.some((a) => a.state.name === def.name);
  return (
    <li
      class={`tile ${rank} ${rising ? "rising" : ""}`}
      data-state={def.name}
      data-rank={rank}
      style={stateColours(def)}
    >
      <a href={link("/search", { state: def.name })}>
        <span class="mark" aria-hidden="true">
          <i>{def.symbol}</i>
          <b>{def.letter}</b>
        </span>
        <Count of={count} />
        <span class="name">
          <bdi>{def.name}</bdi>
        </span>
        {def.severity > 0 && count > 0 && <Longest index={index} severity={def.severity} />}
      </a>
    </li>
  );
}

/** A number that stays within its tile: the style sheet needs to know how long it is. */
function Count({ of }: { of: number }) {
  const text = countText(of);
  return (
    <span class="count" data-count={of} style={{ "--chars": text.length } as CSSProperties}>
      {text}
      <span class="sr">{of === 1 ? " device " : " devices "}</span>
    </span>
  );
}

/** For how long the device has been in a state that is in it longest. */
function Longest({ index, severity }: { index: number; severity: number }) {
  version.value;
  const cell = fleet.trouble.longest(severity, (c) => fleet.state[c] === index);
  if (cell === undefined) return null;
  return (
    <span class="longest">
      <span class="word">longest </span>
      {duration(now.value / 1000 - fleet.since[cell])}
    </span>
  );
}

function SilentTile({ count }: { count: number }) {
  return (
    <li class="tile silent" data-state="silent">
      <a href={link("/search", { silent: "true" })}>
        <span class="mark" aria-hidden="true">
          <i>▨</i>
          <b>–</b>
        </span>
        <Count of={count} />
        <span class="name">silent</span>
      </a>
    </li>
  );
}
