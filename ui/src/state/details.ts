import { list, request } from "../net/api";
import type { Device } from "../model/fleet";
import { fleet, link, version } from "./live";

/** How many devices are asked for at once; a browser has six connections, and the stream is one. */
const atOnce = 3;

const wanted = new Set<number>();
let running = 0;
let asked = ""; // of which load, in which round

/**
 * Sees to it that operator, supervisor and message of these cells are known. The snapshot has them
 * not, and only what is on the screen is asked for.
 */
export function want(cells: number[]): void {
  const ask = `${fleet.generation} ${fleet.round}`;
  if (asked !== ask) {
    asked = ask;
    if (cells.some(isOld)) void askForMany(cells.length);
  }
  wanted.clear();
  for (const cell of cells) if (isOld(cell)) wanted.add(cell);
  while (running < atOnce && wanted.size > 0) void next();
}

function isOld(cell: number): boolean {
  const detail = fleet.details.get(cell);
  return detail?.heard === undefined || detail.round !== fleet.round;
}

async function next(): Promise<void> {
  const [cell] = wanted;
  wanted.delete(cell);
  running++;
  const [mark, era, round, id] = [fleet.mark(cell), fleet.generation, fleet.round, fleet.ids[cell]];
  try {
    const d = await request<Device>("GET", `/devices/${encodeURIComponent(id)}`);
    if (era === fleet.generation) {
      fleet.learn(d, mark, round);
      version.value++;
    }
  } catch {
    // Without them the row says less; it is asked again when it is drawn again.
  } finally {
    running--;
    if (wanted.size > 0 && link.peek().phase !== "lost") void next();
  }
}

/** The first rows of the list in one request, instead of one for each. */
async function askForMany(rows: number): Promise<void> {
  const bad = fleet.states.filter((s, i) => s.severity > 0 && fleet.counts[i] > 0);
  if (bad.length === 0 || bad.length > 100) return;
  const marks = new Map<number, number>();
  for (const cell of fleet.trouble.slice(0, 200)) marks.set(cell, fleet.mark(cell));
  const [era, round] = [fleet.generation, fleet.round];
  try {
    const query = {
      state: bad.map((s) => s.name).join(","), sort: "severity", limit: String(Math.max(100, rows)),
    };
    const page = await list<Device>("/devices", query);
    if (era !== fleet.generation) return;
    for (const d of page.items) {
      const cell = fleet.find(d.device);
      if (cell !== undefined) fleet.learn(d, marks.get(cell) ?? 0, round);
    }
    version.value++;
  } catch {
    // The rows ask for themselves.
  }
}
