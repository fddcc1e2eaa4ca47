import { expect, test } from "vitest";
import { barsOf, coming, daysFrom, within } from "./agenda";

test("days begin at midnight of the viewer's zone, whatever the clocks do", () => {
  const days = daysFrom(new Date(2026, 9, 20, 15, 30).getTime());
  expect(days).toHaveLength(29);
  expect(days.every((d) => new Date(d).getHours() === 0)).toBe(true);
  expect(new Date(days[28]).getDate()).toBe(17);
});

test("a bar is cut to the span", () => {
  expect(within({ from: 5, to: 15 }, 10, 20)).toEqual([0, 0.5]);
  expect(within({ from: 12, to: 13 }, 10, 20)).toEqual([0.2, 0.1]);
  expect(within({ from: 0, to: 10 }, 10, 20)).toBeUndefined();
});

test("each person has one colour, a gap none", () => {
  const shift = (person: string | undefined, day: number, layer?: number) => ({
    schedule: "s", person, layer, from: `2026-12-0${day}T00:00:00Z`, to: `2026-12-0${day + 1}T00:00:00Z`,
  });
  const bars = barsOf([shift("Sara", 1, 1), shift("Liz", 2), shift(undefined, 3), shift("Sara", 4, 1)]);
  expect(bars.map((b) => b.text)).toEqual(["Sara", "Liz", "nobody", "Sara"]);
  expect(bars.map((b) => b.kind)).toEqual([undefined, "override", "gap", undefined]);
  expect(bars[0].colour).toBe(bars[3].colour);
  expect(bars[0].colour).not.toBe(bars[1].colour);
  expect(bars[2].colour).toBeUndefined();
  expect(coming(bars, Date.parse("2026-12-03T00:00:00Z")).map((b) => b.text)).toEqual(["nobody", "Sara"]);
});
