import { describe, expect, test } from "vitest";
import { clockTime, daySpan, duration, moment, parseDuration, toLocalInput, zoneId, zoneName } from "./time";

test("a duration has two units, the smaller one counting", () => {
  const want: [number, string][] = [
    [-5, "0 s"], [0.9, "0 s"], [59, "59 s"], [60, "1 m 00 s"], [3599, "59 m 59 s"],
    [3600, "1 h 00 m"], [86_399, "23 h 59 m"], [86_400, "1 d 0 h"], [400 * 86_400, "400 d 0 h"],
  ];
  for (const [seconds, text] of want) expect(duration(seconds)).toBe(text);
});

test("durations are read as the API writes them", () => {
  const want: [string, number][] = [
    ["15m", 900], ["1h30m", 5400], ["30d", 2_592_000], ["0s", 0], ["500ms", 0.5], ["1w", 604_800],
  ];
  for (const [text, seconds] of want) expect(parseDuration(text)).toBe(seconds);
  for (const bad of ["", "forever", "15", "15m ", "-1s"]) expect(parseDuration(bad)).toBeNaN();
});

describe("moments", () => {
  const at = new Date("2026-03-29T00:59:59Z");
  test("are in the zone, also when the clocks change", () => {
    expect(clockTime(at, "Europe/Berlin")).toBe("01:59:59");
    expect(clockTime(new Date(at.getTime() + 1000), "Europe/Berlin")).toBe("03:00:00");
  });
  test("have the day unless it is today, and the year unless it is this one", () => {
    expect(moment(at, new Date("2026-03-29T20:00:00Z"), "UTC")).toBe("00:59:59");
    expect(moment(at, new Date("2026-03-30T00:00:00Z"), "UTC")).toBe("29 Mar 00:59:59");
    expect(moment(at, new Date("2027-03-30T00:00:00Z"), "UTC")).toBe("29 Mar 2026 00:59:59");
  });
  test("have their zone where it was not as now", () => {
    const [summer, winter] = [new Date("2026-10-24T20:00:00Z"), new Date("2026-11-28T20:00:00Z")];
    expect(moment(summer, winter, "Europe/Berlin")).toMatch(/^24 Oct 22:00:00 (CEST|GMT\+2)$/);
    expect(moment(winter, summer, "Europe/Berlin")).toMatch(/^28 Nov 21:00:00 (CET|GMT\+1)$/);
    expect(moment(summer, new Date("2026-10-24T21:00:00Z"), "Europe/Berlin")).toBe("22:00:00");
    expect(moment(summer, winter, "Asia/Tokyo")).toBe("25 Oct 05:00:00");
  });
  test("have their zone where clocks show the time twice", () => {
    const of = (time: string, zone: string) => moment(new Date(time), new Date("2026-12-01T12:00:00Z"), zone);
    expect(of("2026-10-25T00:15:00Z", "Europe/Berlin")).toMatch(/^25 Oct 02:15:00 (CEST|GMT\+2)$/);
    expect(of("2026-10-25T01:15:00Z", "Europe/Berlin")).toMatch(/^25 Oct 02:15:00 (CET|GMT\+1)$/);
    expect(of("2026-10-25T02:00:00Z", "Europe/Berlin")).toBe("25 Oct 03:00:00");
    expect(of("2026-04-04T14:45:00Z", "Australia/Lord_Howe")).toMatch(/^05 Apr 01:45:00 .*11$/);
    expect(of("2026-04-04T15:15:00Z", "Australia/Lord_Howe")).toMatch(/^05 Apr 01:45:00 .*10:30$/);
  });
});

test("the zone is named", () => {
  expect(zoneName(new Date("2026-07-01T00:00:00Z"), "Europe/Berlin")).toContain("Europe/Berlin");
  expect(zoneName(new Date(), "UTC")).toBe("UTC");
  expect(zoneId("Europe/Berlin")).toBe("Europe/Berlin");
});

test("a day is from its first instant to the next day's", () => {
  const [from, to] = daySpan("2026-02-28")!;
  expect([toLocalInput(from), toLocalInput(to)]).toEqual(["2026-02-28T00:00", "2026-03-01T00:00"]);
  for (const bad of ["2026-02-30", "2026-13-01", "yesterday", ""]) expect(daySpan(bad)).toBeUndefined();
});
