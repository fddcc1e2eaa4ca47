import { describe, expect, test } from "vitest";
import { gaps, pan, runAt, stretches, ticks, windowTo, zoom, type Run } from "./strip";

const run = (state: string, severity: number, from: number, to: number): Run => ({ state, severity, from, to });
const w = { from: 0, to: 1000 };

describe("stretches", () => {
  test("are cut at the window, and the running run goes to its end", () => {
    const runs = [run("W", 32, 600, Infinity), run("N", 0, -500, 600)];
    expect(stretches(runs, w, 100)).toEqual([
      { x: 0, width: 60, state: "N" },
      { x: 60, width: 40, state: "W" },
    ]);
  });
  test("show a run that is shorter than a pixel, if it is worse than what is around it", () => {
    const runs = [run("N", 0, 0, 500), run("W", 32, 500, 501), run("N", 0, 501, 1000)];
    expect(stretches(runs, w, 10)).toEqual([
      { x: 0, width: 5, state: "N" },
      { x: 5, width: 1, state: "W" },
      { x: 6, width: 4, state: "N" },
    ]);
  });
  test("leave out what is not known", () => {
    expect(stretches([run("N", 0, 0, 100), run("N", 0, 300, 400)], w, 10)).toEqual([
      { x: 0, width: 1, state: "N" },
      { x: 3, width: 1, state: "N" },
    ]);
  });
  test("leave out runs that are not in the window", () => {
    expect(stretches([run("N", 0, -200, -100), run("W", 1, 2000, 3000)], w, 10)).toEqual([]);
  });
});

describe("gaps", () => {
  test("begin where the device fell silent", () => {
    expect(gaps([0, 100, 500, 600], w, 150)).toEqual([
      { from: 250, to: 500 },
      { from: 750, to: 1000 },
    ]);
  });
  test("go through all of a window in which nothing was heard", () => {
    expect(gaps([-500], w, 150)).toEqual([{ from: 0, to: 1000 }]);
    expect(gaps([-100], w, 150)).toEqual([{ from: 50, to: 1000 }]);
  });
  test("are none while it reports", () => {
    expect(gaps([0, 100, 200, 300, 400, 500, 600, 700, 800, 900], w, 150)).toEqual([]);
    expect(gaps([], w, 150)).toEqual([]);
  });
});

describe("the window", () => {
  test("is nearer around what is under the pointer", () => {
    expect(zoom({ from: 0, to: 1e9 }, 0.5, 2.5e8, 2e9)).toEqual({ from: 1.25e8, to: 6.25e8 });
  });
  test("goes to an instant, and keeps its length", () => {
    expect(windowTo(5e8, { from: 9e8, to: 1e9 }, 1e9)).toEqual({ from: 4.05e8, to: 5.05e8 });
    expect(windowTo(1e9, { from: 0, to: 1e8 }, 1e9)).toEqual({ from: 9e8, to: 1e9 });
  });
  test("never ends after now, and is never shorter than a minute", () => {
    expect(zoom({ from: 0, to: 1e9 }, 2, 5e8, 1e9)).toEqual({ from: -1e9, to: 1e9 });
    expect(pan({ from: 0, to: 1e6 }, 0.5, 1.1e6)).toEqual({ from: 1e5, to: 1.1e6 });
    const near = zoom({ from: 0, to: 1e6 }, 1e-6, 5e5, 1e9);
    expect(near.to - near.from).toBe(60_000);
  });
});

test("ticks stand at round times within the window", () => {
  const from = new Date(2026, 3, 24, 13, 7).getTime();
  const marks = ticks({ from, to: from + 8 * 3_600_000 }, 10);
  expect(marks.length).toBeLessThanOrEqual(10);
  expect(marks.length).toBeGreaterThan(3);
  for (const { at } of marks) expect(new Date(at).getMinutes()).toBe(0);
});

test("a run holds its first instant and not its last", () => {
  const runs = [run("A", 0, 0, 10), run("B", 0, 10, 20)];
  expect(runAt(runs, 10)?.state).toBe("B");
  expect(runAt(runs, 20)).toBeUndefined();
});
