/** One run of one state of a device, in milliseconds; the running one ends at Infinity. */
export interface Run {
  state: string;
  severity: number;
  from: number;
  to: number;
}

/** A part of the time axis, in milliseconds. */
export interface Window {
  from: number;
  to: number;
}

/** A stretch of the strip, in pixels. */
export interface Stretch {
  x: number;
  width: number;
  state: string;
}

/**
 * The stretches to draw, from left to right. Where several runs share a pixel, the severest of them
 * is seen: a short warning must not vanish because the window is wide.
 */
export function stretches(runs: Run[], w: Window, pixels: number): Stretch[] {
  const at = (t: number) => ((t - w.from) / (w.to - w.from)) * pixels;
  const columns: (Run | undefined)[] = new Array(pixels);
  for (const run of runs) {
    if (run.to <= w.from || run.from >= w.to) continue;
    const first = Math.max(0, Math.floor(at(run.from)));
    const behind = Math.min(pixels, Math.max(Math.ceil(at(run.to)), first + 1));
    for (let x = first; x < behind; x++) {
      const there = columns[x];
      if (!there || run.severity > there.severity) columns[x] = run;
    }
  }
  const joined: Stretch[] = [];
  for (let x = 0; x < pixels; x++) {
    const run = columns[x];
    if (!run) continue;
    const last = joined.at(-1);
    if (last && last.state === run.state && last.x + last.width === x) last.width++;
    else joined.push({ x, width: 1, state: run.state });
  }
  return joined;
}

/**
 * Where nothing was heard: between two times that are further apart than silentAfter. `heard` is
 * ascending. A gap begins where the device fell silent: silentAfter after what was heard last.
 */
export function gaps(heard: number[], w: Window, silentAfter: number): Window[] {
  const found: Window[] = [];
  const add = (last: number, next: number) => {
    const gap = { from: Math.max(last + silentAfter, w.from), to: Math.min(next, w.to) };
    if (next - last > silentAfter && gap.to > gap.from) found.push(gap);
  };
  for (let i = 1; i < heard.length; i++) add(heard[i - 1], heard[i]);
  if (heard.length > 0) add(heard[heard.length - 1], w.to);
  return found;
}

/** The window seen through a lens: factor below 1 is nearer; what is at `centre` stays there. */
export function zoom(w: Window, factor: number, centre: number, now: number): Window {
  const length = Math.min(Math.max((w.to - w.from) * factor, shortest), longest);
  const share = (centre - w.from) / (w.to - w.from);
  return within({ from: centre - share * length, to: centre + (1 - share) * length }, now);
}

/** The window moved by a share of its length; negative is earlier. */
export function pan(w: Window, share: number, now: number): Window {
  const by = (w.to - w.from) * share;
  return within({ from: w.from + by, to: w.to + by }, now);
}

/** A window as long as another, at whose end an instant is seen with a little time after it. */
export function windowTo(at: number, w: Window, now: number): Window {
  const length = w.to - w.from;
  return within({ from: at - 0.95 * length, to: at + 0.05 * length }, now);
}

const shortest = 60_000;
const longest = 5 * 366 * 86_400_000;

/** A window that does not end after now: there is nothing to be seen there. */
function within(w: Window, now: number): Window {
  const ahead = Math.max(0, w.to - now);
  return { from: Math.round(w.from - ahead), to: Math.round(w.to - ahead) };
}

const steps = [
  1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  604_800, 2_592_000, 7_776_000, 31_536_000,
].map((s) => s * 1000);

/** The marks of a time axis with at most `most` of them, on round times of the viewer's zone. */
export function ticks(w: Window, most: number): { at: number; step: number }[] {
  const step = steps.find((s) => (w.to - w.from) / s <= most) ?? steps[steps.length - 1];
  const offset = (t: number) => new Date(t).getTimezoneOffset() * 60_000;
  const marks: { at: number; step: number }[] = [];
  let local = Math.ceil((w.from - offset(w.from)) / step) * step;
  for (; marks.length <= most; local += step) {
    const at = local + offset(local + offset(local));
    if (at > w.to) break;
    if (at >= w.from) marks.push({ at, step });
  }
  return marks;
}

/** Which run holds an instant. */
export function runAt(runs: Run[], at: number): Run | undefined {
  return runs.find((run) => run.from <= at && at < run.to);
}
