import { describe, expect, test } from "vitest";
import { Fleet, naturalOrder, snapshotOf, type Device, type Snapshot } from "./fleet";

const states = [
  { name: "NORMAL", severity: 0, letter: "N", colour: "#2e7d32", symbol: "●" },
  { name: "WARNING1", severity: 32, letter: "1", colour: "#f9a825", symbol: "▲" },
  { name: "WARNING4", severity: 80, letter: "4", colour: "#b71c1c", symbol: "✖" },
];

const snapshot = (devices: Snapshot["devices"], silent: number[] = []): Snapshot => (
  { position: "a-1", states, devices, silent }
);

const device = (device: string, state: string, since: number, more: Partial<Device> = {}): Device => ({
  device,
  state,
  severity: states.find((s) => s.name === state)?.severity ?? 16,
  since: new Date(since * 1000).toISOString(),
  silent: false,
  ...more,
});

function loaded(...devices: Snapshot["devices"]): Fleet {
  const fleet = new Fleet();
  fleet.load(snapshot(devices));
  return fleet;
}

const listed = (fleet: Fleet) => fleet.trouble.slice(0, 1e9).map((cell) => fleet.ids[cell]);

describe("silence", () => {
  test("begins and ends without a change of state", () => {
    const fleet = loaded(["a", 0, 10], ["b", 1, 20]);
    fleet.learn({ ...device("b", "WARNING1", 20), operator: "Liz" }, 0);
    fleet.takeTouched();
    fleet.turn("b", true);
    fleet.turn("unknown", true);
    expect(fleet.silentCounts).toEqual([0, 1, 0]);
    expect(fleet.takeTouched()).toEqual([fleet.find("b")]);
    // Since when is asked for, and who has it stays on the screen meanwhile.
    expect(fleet.details.get(fleet.find("b")!)).toMatchObject({ operator: "Liz", heard: undefined });
    fleet.turn("b", false);
    fleet.turn("b", false);
    expect(fleet.silentTotal).toBe(0);
    expect(fleet.details.get(fleet.find("b")!)?.heard).toBe("");
  });
});

describe("the list of trouble", () => {
  test("is severest first, then longest, then by id", () => {
    const fleet = loaded(["d", 1, 20], ["a", 1, 10], ["b", 2, 30], ["n", 0, 1], ["c", 1, 20]);
    expect(listed(fleet)).toEqual(["b", "a", "c", "d"]);
  });

  test("moves a device with each change", () => {
    const fleet = loaded(["a", 1, 10], ["b", 1, 20]);
    fleet.apply(device("b", "WARNING4", 40));
    expect(listed(fleet)).toEqual(["b", "a"]);
    fleet.apply(device("b", "NORMAL", 50));
    expect(listed(fleet)).toEqual(["a"]);
    fleet.apply(device("a", "WARNING1", 60));
    fleet.apply(device("new", "WARNING1", 55));
    expect(listed(fleet)).toEqual(["new", "a"]);
    fleet.remove("new");
    expect(listed(fleet)).toEqual(["a"]);
  });

  test("stays sorted through random changes", () => {
    const fleet = loaded(...Array.from({ length: 300 }, (_, i) => [`d${i}`, i % 3, i % 17] as [string, number, number]));
    let seed = 7;
    const dice = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    for (let i = 0; i < 3000; i++) {
      const id = `d${dice(330)}`;
      if (dice(20) === 0) fleet.remove(id);
      else fleet.apply(device(id, states[dice(3)].name, dice(50)));
    }
    const sorted = fleet.ids
      .map((_, cell) => cell)
      .filter((cell) => fleet.severity(cell) > 0)
      .sort(
        (a, b) =>
          fleet.severity(b) - fleet.severity(a) ||
          fleet.since[a] - fleet.since[b] ||
          (fleet.ids[a] < fleet.ids[b] ? -1 : 1),
      );
    expect(fleet.trouble.slice(0, 1e9)).toEqual(sorted);
    expect(fleet.trouble.size).toBe(sorted.length);
    const counted = states.map((_, s) => fleet.ids.filter((_, c) => fleet.shows(c) && fleet.state[c] === s).length);
    expect(fleet.counts).toEqual(counted);
  });

  test("gives a part of its rows over several severities", () => {
    const fleet = loaded(["a", 2, 1], ["b", 2, 2], ["c", 1, 1], ["d", 1, 2]);
    expect(fleet.trouble.slice(1, 3).map((c) => fleet.ids[c])).toEqual(["b", "c"]);
    expect(fleet.trouble.slice(3, 99).map((c) => fleet.ids[c])).toEqual(["d"]);
  });
});

describe("counts", () => {
  test("follow changes, also of silent devices and of states outside the set", () => {
    const fleet = new Fleet();
    fleet.load(snapshot([["a", 0, 1], ["b", 0, 1], ["c", 1, 1]], [1, 2]));
    expect(fleet.counts).toEqual([2, 1, 0]);
    expect(fleet.silentCounts).toEqual([1, 1, 0]);
    fleet.apply(device("c", "NORMAL", 5));
    fleet.apply(device("a", "BROKEN", 5));
    expect(fleet.counts).toEqual([2, 0, 0, 1]);
    expect(fleet.silentCounts).toEqual([1, 0, 0, 0]);
    expect(fleet.states[3]).toMatchObject({ name: "BROKEN", severity: 16, letter: "?" });
    fleet.remove("b");
    expect(fleet.counts).toEqual([1, 0, 0, 1]);
    expect(fleet.silentTotal).toBe(0);
    expect(fleet.size).toBe(2);
  });

  test("of silence are set as a whole", () => {
    const fleet = loaded(["a", 0, 1], ["b", 1, 1]);
    fleet.setAllSilent(["b", "gone"]);
    expect(fleet.silentCounts).toEqual([0, 1, 0]);
    fleet.setAllSilent(["a"]);
    expect(fleet.silentCounts).toEqual([1, 0, 0]);
  });
});

describe("what is worse", () => {
  test("learns of a change for the worse only", () => {
    const fleet = loaded(["a", 0, 1], ["b", 2, 1]);
    expect(fleet.apply(device("a", "WARNING1", 5))).toMatchObject({ device: "a", state: { name: "WARNING1" } });
    expect(fleet.apply(device("a", "WARNING1", 5, { operator: "Liz" }))).toBeUndefined();
    expect(fleet.apply(device("b", "WARNING1", 5))).toBeUndefined();
    expect(fleet.apply(device("new", "NORMAL", 5))).toBeUndefined();
    expect(fleet.apply(device("worse", "WARNING4", 5))).toBeDefined();
  });

  test("learns of a load that comes after a break, and not of the first", () => {
    const fleet = new Fleet();
    expect(fleet.load(snapshot([["a", 2, 1]]))).toEqual([]);
    const rises = fleet.load(snapshot([["a", 2, 1], ["b", 1, 1]]));
    expect(rises).toEqual([]); // b was not there before: it may be an old one
    expect(fleet.load(snapshot([["a", 2, 1], ["b", 2, 9]])).map((r) => r.device)).toEqual(["b"]);
  });
});

describe("details", () => {
  test("of an answer that was asked for before a change are not taken", () => {
    const fleet = loaded(["a", 1, 1]);
    const mark = fleet.mark(0);
    fleet.apply(device("a", "WARNING1", 1, { operator: "new" }));
    fleet.learn(device("a", "WARNING1", 1, { operator: "old" }), mark);
    expect(fleet.details.get(0)?.operator).toBe("new");
    fleet.learn(device("a", "WARNING1", 1, { operator: "newer" }), fleet.mark(0));
    expect(fleet.details.get(0)?.operator).toBe("newer");
  });

  test("say since when a device is silent, and not when another was last heard", () => {
    const fleet = loaded(["a", 1, 1], ["b", 1, 1]);
    const mark = fleet.marks();
    const received = "2026-01-01T00:00:00Z";
    fleet.apply(device("b", "WARNING1", 1, { received }));
    fleet.learn(device("a", "WARNING1", 1, { received, silent: true }), mark("a"));
    fleet.learn(device("b", "WARNING1", 1, { received, silent: true }), mark("b"));
    expect(fleet.details.get(0)?.heard).toBe(received);
    expect(fleet.details.get(1)?.heard).toBe("");
  });

  test("say in which round they were asked for, and the window of maintenance", () => {
    const fleet = loaded(["a", 1, 1]);
    const round = fleet.round++;
    fleet.learn(device("a", "WARNING1", 1, { maintenance: { name: "oil" } }), fleet.mark(0), round);
    expect(fleet.details.get(0)).toMatchObject({ maintenance: { name: "oil" }, round });
    fleet.apply(device("a", "WARNING1", 1));
    expect(fleet.details.get(0)).toMatchObject({ maintenance: undefined, round: fleet.round });
  });

  test("are forgotten of devices that are well", () => {
    const fleet = loaded(["a", 1, 1]);
    fleet.apply(device("a", "NORMAL", 2));
    expect(fleet.details.size).toBe(0);
  });
});

test("only cells that look different are drawn again", () => {
  const fleet = loaded(["a", 0, 1], ["b", 0, 1]);
  expect(fleet.takeTouched()).toEqual([]);
  fleet.apply(device("b", "WARNING1", 2));
  fleet.apply(device("b", "WARNING4", 3));
  expect(fleet.takeTouched()).toEqual([1]);
  expect(fleet.takeTouched()).toEqual([]);
});

test("neighbours on the floor are neighbours on the map", () => {
  const ids = ["a10", "a1b", "a2", "b", "a02", "a"];
  expect(naturalOrder(ids).map((i) => ids[i])).toEqual(["a", "a02", "a2", "a10", "a1b", "b"]);
});

test("a server without a feed gives a picture of what is not normal", () => {
  const counts = {
    items: states.map(({ name, ...look }) => ({ state: name, ...look, count: 7, silent: 1 })),
    total: 21,
    silent: 3,
  };
  const made = snapshotOf(counts, [device("a", "WARNING4", 10, { silent: true }), device("b", "unheard of", 5)]);
  expect(made).toEqual({ position: "", states, devices: [["a", 2, 10]], silent: [0] });
});
