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

/** Lists up to this length are kept up to date; the server gives no longer pages. */
const longestPage = 1000;

/**
 * The limit with which a list that has grown to some items is read again: the number of its whole
 * pages; undefined where it is too long for that.
 */
export function pageFor(items: number, perPage: number): number | undefined {
  return items > longestPage
    ? undefined
    : Math.min(longestPage, Math.max(1, Math.ceil(items / perPage)) * perPage);
}

/** The part of an address that names a window. */
export function queryOfWindow(w: Window): Query {
  const text = (t: number) => new Date(t).toISOString();
  return { range: undefined, from: text(w.from), to: text(w.to) };
}

export function queryOfRange(range: string): Query {
  return { range, from: undefined, to: undefined };
}
