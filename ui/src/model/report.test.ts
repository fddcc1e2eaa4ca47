import { describe, expect, test } from "vitest";
import { inOrder, planned } from "./agenda";
import { devicesOf, repeats, type Maintenance } from "./duty";
import { barName, binsOf, percent } from "./report";

describe("the bars of a report", () => {
  const row = (name: string, incidents: number, seconds: number) => ({ name, incidents, per_hour: 0, seconds });
  test("are hours in a short span, also those without an incident", () => {
    const [from, to] = [Date.parse("2026-11-27T04:30:00Z"), Date.parse("2026-11-27T07:10:00Z")];
    const bins = binsOf([row("2026-11-27T05:00:00Z", 3, 1800), row("2026-11-27T07:00:00Z", 1, 360)], from, to);
    expect(bins.step).toBe("hour");
    expect(bins.incidents).toEqual([0, 3, 0, 1]);
    expect(bins.hours).toEqual([0, 0.5, 0, 0.1]);
    expect(bins.times[0]).toBe(Date.parse("2026-11-27T04:00:00Z") / 1000);
  });
  test("are days in a long one, each once, over a change to summer time too", () => {
    const [from, to] = [new Date(2026, 2, 20), new Date(2026, 3, 4)];
    const rows = [row(new Date(2026, 2, 29, 1).toISOString(), 2, 3600), row(new Date(2026, 2, 29, 20).toISOString(), 1, 0)];
    const bins = binsOf(rows, from.getTime(), to.getTime());
    expect(bins.step).toBe("day");
    expect(bins.times.length).toBe(15);
    expect(bins.times.map((t) => new Date(t * 1000).getHours())).toEqual(Array(15).fill(0));
    expect(bins.incidents[9]).toBe(3);
  });
});

test("a bar is named by its hour or its day", () => {
  expect(barName("hour", new Date(2026, 10, 27, 4))).toBe("04:00");
  expect(barName("day", new Date(2026, 10, 2))).toBe("02 Nov");
});

test("a part is never the whole where something is missing", () => {
  expect(percent(1)).toBe("100.000 %");
  expect(percent(0.9999999)).toBe("99.999 %");
  expect(percent(0.956)).toBe("95.60 %");
  expect(percent(0.5)).toBe("50.0 %");
});

describe("windows of maintenance", () => {
  const of = (more: Partial<Maintenance> = {}): Maintenance => ({
    name: "w", start: "2026-11-27T06:00:00Z", length: "2h", ...more,
  });
  test("say which devices", () => {
    expect(devicesOf(of({ devices: ["a", "b"], group: "plant-1" }))).toBe("a, b; group plant-1");
    expect(devicesOf(of({ devices: ["a", "b", "c", "d", "e"] }))).toBe("a, b, c and 2 more");
    expect(devicesOf(of({ prefix: "press-" }))).toBe("press-…");
  });
  test.each([
    [undefined, "once"],
    ["FREQ=DAILY", "daily"],
    ["FREQ=WEEKLY;BYDAY=MO,SU", "weekly on Mon, Sun"],
    ["FREQ=WEEKLY;INTERVAL=2;BYDAY=SU", "every 2 weeks on Sun"],
    ["FREQ=MONTHLY;BYDAY=1SU", "FREQ=MONTHLY;BYDAY=1SU"],
    ["FREQ=DAILY;COUNT=3", "FREQ=DAILY;COUNT=3"],
  ])("repeat %s: %s", (rule, text) => expect(repeats(rule)).toBe(text));
  test("are to come, now or over, or come again", () => {
    const at = (text: string) => Date.parse(`2026-11-27T${text}:00Z`);
    const times = [{ name: "w", from: "2026-11-27T06:00:00Z", to: "2026-11-27T08:00:00Z" }];
    const other = [{ ...times[0], name: "v" }];
    expect(planned(of(), times, at("05:59")).when).toBe("to come");
    expect(planned(of(), times, at("06:00")).when).toBe("now");
    expect(planned(of(), times, at("08:00")).when).toBe("over");
    expect(planned(of(), other, at("05:59")).when).toBe("later");
    expect(planned(of({ rrule: "FREQ=YEARLY" }), times, at("08:00")).when).toBe("later");
    const all = [planned(of(), times, at("08:00")), planned(of(), other, at("05:00")), planned(of(), times, at("07:00"))];
    expect(all.sort(inOrder(at("07:00"))).map((p) => p.when)).toEqual(["now", "later", "over"]);
  });
});
