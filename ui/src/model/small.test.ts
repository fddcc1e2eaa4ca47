import { describe, expect, test } from "vitest";
import { addressOf, devicePath, devicesQuery, placeOf, queryOf } from "./address";
import { announcement, expire, newFor, raise, settle, title } from "./alarms";
import { cellAt, gridOf, hit, step } from "./cells";
import { csv } from "./csv";
import { seriesOf, shortNumber } from "./readings";
import { clearedText, raisedText, type Rule } from "./rules";
import { contrast, mix, readable, tilesOf, unknownState } from "./states";
import { queryOfDates, queryOfRange, queryOfWindow, shownOf, usualRange } from "./window";

describe("addresses", () => {
  const ids = ["press-7", "d#1/2%", "a b?c", "<script>", "\u202eright", "😀", "."];
  test("carry every id", () => {
    for (const id of ids) expect(placeOf(devicePath(id))).toEqual({ view: "device", device: id });
  });
  test("name the views", () => {
    expect(placeOf("/")).toEqual({ view: "fleet" });
    expect(placeOf("/wall")).toEqual({ view: "wall" });
    expect(placeOf("/operators/Liz")).toEqual({ view: "operator", operator: "Liz" });
    for (const path of ["/devices", "/devices/", "/devices/a/b", "/devices/%", "/x"]) {
      expect(placeOf(path)).toEqual({ view: "unknown", path });
    }
  });
  test("carry the tenant unless it is the usual one", () => {
    expect(addressOf("/", { state: "A,B" }, "plant 2")).toBe("/?tenant=plant+2&state=A%2CB");
    expect(addressOf("/", { state: "" }, "default")).toBe("/");
    expect(queryOf("?tenant=plant+2")).toEqual({ tenant: "plant 2" });
  });
});

test("a search is for a text, the severest first", () => {
  expect(devicesQuery({ search: " press ", state: "A,B" })).toMatchObject({
    search: "press",
    state: "A,B",
    sort: "severity",
  });
  expect(devicesQuery({}).search).toBeUndefined();
});

describe("new trouble", () => {
  const rise = (device: string, severity: number) => (
    { cell: 0, device, state: { ...unknownState(`S${severity}`), severity } }
  );
  test("is severest first, and each device once", () => {
    const first = raise([], [rise("a", 10), rise("b", 50)], 0);
    expect(first.map((a) => a.device)).toEqual(["b", "a"]);
    expect(raise(first, [rise("a", 60)], 5).map((a) => [a.device, a.at])).toEqual([["a", 5], ["b", 0]]);
  });
  test("is no longer new after a while", () => {
    const alarms = raise([], [rise("a", 10)], 0);
    expect(expire(alarms, newFor - 1)).toBe(alarms);
    expect(expire(alarms, newFor)).toEqual([]);
    expect(settle(alarms, (d) => d === "a")).toEqual([]);
    expect(settle(alarms, () => false)).toBe(alarms);
  });
  test("stays bounded in a storm", () => {
    const storm = Array.from({ length: 5000 }, (_, i) => rise(`d${i}`, i % 80));
    const alarms = raise([], storm, 0);
    expect(alarms.length).toBe(200);
    expect(alarms[0].state.severity).toBe(79);
    expect(title(alarms, "Fleet", false)).toBe("(200+) Fleet · Andon");
  });
  test("is shown in words and in the title", () => {
    expect(announcement([rise("a", 10), rise("b", 50)])).toBe("b is in S50, and 1 more");
    expect(title([], "Fleet", false)).toBe("Fleet · Andon");
    expect(title([], "Fleet", true)).toContain("no connection");
  });
});

describe("cells", () => {
  test("all fit, as large as they can be", () => {
    for (const [n, w, h] of [[1, 300, 200], [981, 800, 600], [100_000, 1400, 700], [7, 10, 900]]) {
      const g = gridOf(n, w, h, 2, 40);
      expect(g.pitch).toBeLessThanOrEqual(40);
      expect(g.columns * g.rows).toBeGreaterThanOrEqual(n);
      expect(g.columns * g.pitch).toBeLessThanOrEqual(w);
      expect(g.rows * g.pitch).toBeLessThanOrEqual(h);
      expect(g.size).toBeGreaterThan(0);
    }
  });
  test("that do not fit make the grid higher, not smaller than can be seen", () => {
    const g = gridOf(100_000, 300, 200, 2, 40);
    expect(g.pitch).toBe(2);
    expect(g.rows * g.pitch).toBeGreaterThan(200);
  });
  test("are found where they are drawn", () => {
    const g = gridOf(500, 800, 600, 2, 40);
    for (const cell of [0, 1, 77, 499]) {
      const [x, y] = cellAt(g, cell);
      expect(hit(g, 500, x + 1, y + 1)).toBe(cell);
    }
    expect(hit(g, 500, 799, 599)).toBe(-1);
    expect(hit(g, 500, -1, 0)).toBe(-1);
  });
  test("are reached by keys, and not left by them", () => {
    const g = { columns: 10, rows: 3, pitch: 5, size: 4 };
    expect(step(g, 25, 12, "ArrowDown")).toBe(22);
    expect(step(g, 25, 22, "ArrowDown")).toBe(22);
    expect(step(g, 25, 12, "End")).toBe(24);
    expect(step(g, 25, 12, "PageUp")).toBe(0);
    expect(step(g, 25, 0, "ArrowLeft")).toBe(0);
    expect(step(g, 25, 0, "x")).toBeUndefined();
  });
});

describe("CSV", () => {
  test("quotes what must be quoted", () => {
    const rows = [{ a: 'say "x", y', b: 1.5 }, { a: "two\nlines", b: null }, { a: { x: 1 } }];
    expect(csv(["a", "b"], rows)).toBe('a,b\r\n"say ""x"", y",1.5\r\n"two\nlines",\r\n"{""x"":1}",\r\n');
  });
  test("gives a spreadsheet nothing to run", () => {
    expect(csv(["a"], [{ a: "=1+1" }, { a: "-2" }, { a: -2 }, { a: "+x" }])).toBe("a\r\n'=1+1\r\n'-2\r\n-2\r\n'+x\r\n");
  });
});

describe("readings", () => {
  const reading = (time: number, metrics: Record<string, number>) => (
    { device: "d", time: new Date(time * 1000).toISOString(), metrics }
  );
  test("become a series for each metric, broken where nothing was heard", () => {
    const series = seriesOf([reading(400, { t: 3 }), reading(100, { t: 1, p: 9 }), reading(160, { t: 2 })], 100);
    expect(series).toEqual([
      { metric: "p", times: [100], values: [9], latest: 9 },
      { metric: "t", times: [100, 160, 260, 400], values: [1, 2, null, 3], latest: 3 },
    ]);
  });
  test("are shown in few digits", () => {
    expect([21.4567, 1013.25, 0, 1e-7, 2e9, 70].map(shortNumber)).toEqual(
      ["21.46", "1013.25", "0", "1.00e-7", "2.00e+9", "70"],
    );
  });
});

describe("states", () => {
  test("have an ink that can be read (WCAG AA)", () => {
    for (const colour of ["#2e7d32", "#f9a825", "#ef6c00", "#d84315", "#b71c1c", "#546e7a", "#777777", "#ffffff"]) {
      const { ground, ink } = readable(colour);
      expect(contrast(ground, ink)).toBeGreaterThanOrEqual(4.5);
    }
  });
  test("keep their colour where it can be read", () => {
    expect(readable("#b71c1c")).toEqual({ ground: "#b71c1c", ink: "#ffffff" });
    expect(contrast(readable("#d84315").ground, "#d84315")).toBeLessThan(1.2);
  });
  test("mix", () => {
    expect(mix("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(mix("#000", "#fff", 0.5)).toBe("#808080");
  });
  test("have tiles, the severest first; of a large set only those with devices", () => {
    const set = Array.from({ length: 20 }, (_, i) => ({ ...unknownState(`S${i}`), severity: i * 10 }));
    const counts = set.map((_, i) => (i === 3 || i === 7 ? 1 : 0));
    expect(tilesOf(set, counts, []).map((t) => t.def.name)).toEqual(["S7", "S3"]);
    expect(tilesOf(set.slice(0, 3), [5, 0, 0], [1]).map((t) => [t.def.name, t.count, t.silent])).toEqual([
      ["S2", 0, 0], ["S1", 0, 0], ["S0", 5, 1],
    ]);
  });
});

describe("the window in the address", () => {
  const now = Date.parse("2026-04-24T12:00:00Z");
  test("moves with the clock unless both ends are named", () => {
    expect(shownOf({}, now)).toEqual({ window: { from: now - 86_400_000, to: now }, range: "24h" });
    expect(shownOf({ range: "1h" }, now).window.from).toBe(now - 3_600_000);
    const fixed = { from: now - 9000, to: now - 1000 };
    expect(shownOf(queryOfWindow(fixed), now)).toEqual({ window: fixed, range: undefined });
    expect(shownOf({ range: "nonsense" }, now).range).toBe("24h");
    expect(shownOf({ from: "x", to: "y" }, now).range).toBe("24h");
  });
  test("follows how often the device changes, up to a day", () => {
    const range = (ago: number) => usualRange(now - ago * 1000, now);
    expect([60, 901, 3601, 40_000, 1e7].map(range)).toEqual(["15m", "1h", "8h", "24h", "24h"]);
    expect(usualRange(undefined, now)).toBe("24h");
    expect(shownOf({}, now, "1h").range).toBe("1h");
    expect(shownOf(queryOfRange("24h"), now, "1h").range).toBe("24h");
  });
});

describe("a rule in words", () => {
  const hot = { metric: "temperature", op: ">", value: 80 };
  test.each<[Partial<Rule>, string, string]>([
    [{ when: hot }, "temperature > 80", "that no longer holds"],
    [{ when: hot, for: "2m", clear_value: 75, clear_for: "5m" }, "temperature > 80, for 2m", "temperature ≤ 75, for 5m"],
    [
      { when: { metric: "pressure", op: "<=", value: -0.5, over: "10m" }, clear: { metric: "pressure", op: ">=", value: 6 } },
      "change of pressure within 10m ≤ -0.5",
      "pressure ≥ 6",
    ],
    [{ when: { expr: "rpm > 1000" } }, "rpm > 1000", "that no longer holds"],
    [{ when: { metric: "rpm", absent_for: "15m" } }, "no rpm for 15m", "the next reading with rpm"],
  ])("%j", (more, raised, cleared) => {
    const rule = { name: "r", state: "WARNING1", ...more } as Rule;
    expect([raisedText(rule), clearedText(rule)]).toEqual([raised, cleared]);
  });
});

test("who chooses one of two dates keeps both that are seen", () => {
  const seen = { from: "2026-11-22", to: "2026-11-28" };
  expect(queryOfDates(seen, { to: "2026-11-25" })).toEqual({ from: "2026-11-22", to: "2026-11-25" });
  expect(queryOfDates(seen, { from: "2026-11-01" })).toEqual({ from: "2026-11-01", to: "2026-11-28" });
  const open = { from: "2026-11-22", to: undefined };
  expect(queryOfDates(open, { from: "2026-12-01" })).toEqual({ from: "2026-12-01", to: undefined });
  expect(queryOfDates(seen, { to: "2020-04-24" })).toEqual({ from: undefined, to: "2020-04-24" });
});
