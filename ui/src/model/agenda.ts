import type { Maintenance, Shift } from "./duty";
import { clockTime, dayName } from "./time";

/** What is planned within a span, as the server answers. */
export interface Agenda {
  maintenance: { name: string; from: string; to: string }[];
  shifts: (Shift & { schedule: string; to: string })[];
}

/** A part of a line of time. */
export interface Bar {
  from: number; // milliseconds, as all times here
  to: number;
  text: string;
  colour?: string;
  kind?: "gap" | "override";
}

/** How many days a calendar shows. */
export const calendarDays = 28;

/** The beginnings of the days of a calendar in the viewer's zone, and the end of the last one. */
export function daysFrom(now: number, count = calendarDays): number[] {
  const d = new Date(now);
  return Array.from({ length: count + 1 }, (_, i) =>
    new Date(d.getFullYear(), d.getMonth(), d.getDate() + i).getTime(),
  );
}

/** Where a bar is within a span, in parts of it; undefined: nowhere. */
export function within(bar: { from: number; to: number }, from: number, to: number): [number, number] | undefined {
  const [a, b] = [Math.max(bar.from, from), Math.min(bar.to, to)];
  return a < b ? [(a - from) / (to - from), (b - a) / (to - from)] : undefined;
}

/** Colours that people with colour-blind eyes tell apart (Okabe and Ito). */
const palette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];

/** The shifts of a schedule as bars: each person has a colour, and a gap none. */
export function barsOf(shifts: Agenda["shifts"]): Bar[] {
  const people = [...new Set(shifts.flatMap((s) => s.person ?? []))].sort();
  return shifts.map((s) => ({
    from: Date.parse(s.from),
    to: Date.parse(s.to),
    text: s.person ?? "nobody",
    colour: s.person && palette[people.indexOf(s.person) % palette.length],
    kind: s.person ? (s.layer ? undefined : "override") : "gap",
  }));
}

/** Those of the bars that have not ended, oldest first. */
export const coming = (bars: Bar[], now: number): Bar[] =>
  bars.filter((b) => b.to > now).sort((a, b) => a.from - b.from);

/** When a bar is, in the viewer's zone: Sun 29 Nov 06:00 to 08:00. */
export function spanText({ from, to }: { from: number; to: number }): string {
  const [a, b] = [new Date(from), new Date(to)];
  const at = (d: Date) => `${dayName(d).slice(0, -5)} ${clockTime(d).slice(0, 5)}`;
  return `${at(a)} to ${dayName(a) === dayName(b) ? clockTime(b).slice(0, 5) : at(b)}`;
}

/** A window with its times within the days of a calendar. */
export interface Planned {
  of: Maintenance;
  bars: Bar[];
  when: "now" | "to come" | "later" | "over";
}

export function planned(of: Maintenance, times: Agenda["maintenance"], at: number): Planned {
  const bars = times
    .filter((t) => t.name === of.name)
    .map((t) => ({ from: Date.parse(t.from), to: Date.parse(t.to), text: of.name }));
  const [next] = coming(bars, at);
  const later = of.rrule || Date.parse(of.start) > at ? "later" : "over";
  return { of, bars, when: !next ? later : next.from <= at ? "now" : "to come" };
}

const order = ["now", "to come", "later", "over"];

/** Those that are now first, and then in the order in which they come. */
export function inOrder(at: number): (a: Planned, b: Planned) => number {
  const next = (p: Planned) => coming(p.bars, at)[0]?.from ?? Date.parse(p.of.start);
  return (a, b) => order.indexOf(a.when) - order.indexOf(b.when) || next(a) - next(b);
}
