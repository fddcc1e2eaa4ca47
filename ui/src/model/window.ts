import type { Query } from "./address";
import type { Window } from "./strip";
import { parseDuration } from "./time";

export const ranges = ["15m", "1h", "8h", "24h", "7d", "30d"] as const;

/** Which part of the time axis an address names: a range up to now, or two instants. */
export interface Shown {
  window: Window;
  range: string | undefined; // it moves with the clock
}

export function shownOf(query: Query, now: number, usual = "24h"): Shown {
  const [from, to] = [Date.parse(query.from ?? ""), Date.parse(query.to ?? "")];
  if (from < to) return { window: { from, to }, range: undefined };
  const length = parseDuration(query.range ?? usual) * 1000;
  const range = length > 0 ? (query.range ?? usual) : usual;
  return { window: { from: now - (length > 0 ? length : 86_400_000), to: now }, range };
}

/**
 * The range that shows the last runs of a device: a press that changes its state every minute is
 * looked at otherwise than a pump that does so once a month. `oldest` is the beginning of one of the
 * last runs.
 */
export function usualRange(oldest: number | undefined, now: number): string {
  const fits = ranges.find((r) => oldest !== undefined && now - oldest <= parseDuration(r) * 1000);
  return fits && fits !== "30d" && fits !== "7d" ? fits : "24h";
}

/**
 * The part of an address that names two dates, once somebody has chosen one of those that are seen:
 * then both hold, and neither moves with the clock any more. The other one is left to be the usual
 * one where the two would contradict each other.
 */
export function queryOfDates(seen: Query, chosen: Query): Query {
  const { from, to } = { ...seen, ...chosen };
  const fits = !from || !to || from <= to;
  return fits ? { from, to } : { from: undefined, to: undefined, ...chosen };
}

/** The part of an address that names a window. */
export function queryOfWindow(w: Window): Query {
  const text = (t: number) => new Date(t).toISOString();
  return { range: undefined, from: text(w.from), to: text(w.to) };
}

export function queryOfRange(range: string): Query {
  return { range, from: undefined, to: undefined };
}
