import { clockTime, dayName } from "./time";

/** The figures of the incidents of a span, by ISA-18.2. Times are in seconds. */
export interface Report {
  from: string;
  to: string;
  devices: number;
  incidents: number;
  per_hour: number;
  floods: { from: string; to: string; incidents: number }[];
  chattering: string[];
  stale: string[];
  worst: ReportRow[];
  to_acknowledge?: Times;
  to_return?: Times;
  availability?: number;
  mtbf?: number;
  mttr?: number;
  rows?: ReportRow[];
}

export interface Times {
  count: number;
  median: number;
  p90: number;
}

/** What a report says of one operator, device or hour. */
export interface ReportRow {
  name: string;
  incidents: number;
  per_hour: number;
  seconds: number;
}

export interface Bins {
  step: "hour" | "day";
  times: number[]; // seconds since 1970, of the beginning of each
  incidents: number[];
  hours: number[]; // not normal, of all devices
}

const hour = 3_600_000;
/** Up to so many hours each has a bar of its own. */
const mostHours = 74;

/** The rows of hours as bars, also those in which nothing was: by days of the viewer's zone in a long span. */
export function binsOf(rows: ReportRow[], from: number, to: number): Bins {
  const long = to - from > mostHours * hour;
  const start = (t: number) => {
    const d = new Date(t);
    return long
      ? new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime()
      : Math.floor(t / hour) * hour;
  };
  const next = (t: number) => (long ? start(t + 36 * hour) : t + hour);
  const bins: Bins = { step: long ? "day" : "hour", times: [], incidents: [], hours: [] };
  const at = new Map<number, number>();
  for (let t = start(from); t < to; t = next(t)) {
    at.set(t, bins.times.push(t / 1000) - 1);
    bins.incidents.push(0);
    bins.hours.push(0);
  }
  for (const row of rows) {
    const i = at.get(start(Date.parse(row.name)));
    if (i === undefined) continue;
    bins.incidents[i] += row.incidents;
    bins.hours[i] += row.seconds / 3600;
  }
  return bins;
}

/** What stands below the beginning of a bar: 14:00, or 24 Apr. */
export function barName(step: Bins["step"], at: Date): string {
  return step === "hour" ? clockTime(at).slice(0, 5) : dayName(at).slice(4, 10);
}

/** A part of a whole as it is read: never 100 % where something is missing. */
export function percent(part: number): string {
  const p = part * 100;
  const digits = p > 99.9 ? 3 : p > 90 ? 2 : 1;
  return `${(Math.floor(p * 10 ** digits) / 10 ** digits).toFixed(digits)} %`;
}
