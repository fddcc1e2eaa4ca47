import type { Query } from "./address";
import type { Window } from "./strip";
import { parseDuration } from "./time";

export const ranges = ["1h", "8h", "24h", "7d", "30d"] as const;
const usual = "24h";

/** Which part of the time axis an address names: a range up to now, or two instants. */
export interface Shown {
  window: Window;
  range: string | undefined; // it moves with the clock
}

export function shownOf(query: Query, now: number): Shown {
  const [from, to] = [Date.parse(query.from ?? ""), Date.parse(query.to ?? "")];
  if (from < to) return { window: { from, to }, range: undefined };
  const length = parseDuration(query.range ?? usual) * 1000;
  const range = length > 0 ? (query.range ?? usual) : usual;
  return { window: { from: now - (length > 0 ? length : 86_400_000), to: now }, range };
}

/** The part of an address that names a window. */
export function queryOfWindow(w: Window): Query {
  const text = (t: number) => new Date(t).toISOString();
  return { range: undefined, from: text(w.from), to: text(w.to) };
}

export function queryOfRange(range: string): Query {
  return { range: range === usual ? undefined : range, from: undefined, to: undefined };
}
