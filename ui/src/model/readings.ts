/** A reading as the API gives it. */
export interface Reading {
  device: string;
  time: string;
  metrics: Record<string, number>;
}

/** What a chart draws: times in seconds, ascending, and a value or null for each. */
export interface Series {
  metric: string;
  times: number[];
  values: (number | null)[];
  latest: number | undefined;
}

/**
 * The series of each metric, in the order of their names. A null stands where nothing was heard for
 * longer than `gap` seconds, so that the line is broken there.
 */
export function seriesOf(readings: Reading[], gap: number): Series[] {
  const byMetric = new Map<string, Series>();
  const ascending = readings
    .map((r) => ({ at: Date.parse(r.time) / 1000, metrics: r.metrics }))
    .sort((a, b) => a.at - b.at);
  for (const { at, metrics } of ascending) {
    for (const [metric, value] of Object.entries(metrics)) {
      let s = byMetric.get(metric);
      if (!s) byMetric.set(metric, (s = { metric, times: [], values: [], latest: undefined }));
      append(s, at, value, gap);
    }
  }
  return [...byMetric.values()].sort((a, b) => (a.metric < b.metric ? -1 : 1));
}

function append(s: Series, at: number, value: number, gap: number): void {
  const last = s.times.at(-1);
  if (last !== undefined && at - last > gap) {
    s.times.push(last + gap);
    s.values.push(null);
  }
  s.times.push(at);
  s.values.push(value);
  s.latest = value;
}

/** A number for people: at most four significant digits, and the unit-free shortest form. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return String(Number(value.toPrecision(size >= 1000 ? 6 : 4)));
}
