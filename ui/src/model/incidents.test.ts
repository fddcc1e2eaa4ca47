import { describe, expect, test } from "vitest";
import { incidentPath, placeOf } from "./address";
import { actsOn, failuresText, focusAfter, lasts, moved, newest, signsOf, stepText, waiting, type Incident } from "./incidents";

const of = (more: Partial<Incident> = {}): Incident => ({
  id: "1",
  device: "press-7",
  kind: "state",
  status: "unacknowledged",
  severity: 64,
  worst: 64,
  since: "2026-11-27T06:00:00Z",
  opened: "2026-11-27T06:00:01Z",
  count: 1,
  ...more,
});

describe("what can be done", () => {
  const acknowledged = { by: "Liz", at: "2026-11-27T06:01:00Z" };
  const shelved = { by: "Liz", once: true, reason: "known" };
  test.each<[string, Partial<Incident>, string[]]>([
    ["nobody has seen it", {}, ["acknowledge", "take", "escalate", "shelve", "comment", "out-of-service"]],
    ["it is mine", { acknowledged, taken_by: "Liz" }, ["escalate", "shelve", "comment", "out-of-service"]],
    ["it is of another", { acknowledged, taken_by: "Tom" }, ["take", "escalate", "shelve", "comment", "out-of-service"]],
    ["it is shelved", { status: "shelved", shelved, acknowledged, taken_by: "Liz" }, ["escalate", "unshelve", "comment", "out-of-service"]],
    ["it is latched", { status: "latched", latched: true, until: "2026-11-27T06:02:00Z", acknowledged, taken_by: "Liz" }, ["reset", "escalate", "shelve", "comment", "out-of-service"]],
    ["it is to be reset later", { latched: true, acknowledged, taken_by: "Liz" }, ["escalate", "shelve", "comment", "out-of-service"]],
    ["it is out of service", { status: "out-of-service", out_of_service: { by: "Liz" }, acknowledged, taken_by: "Liz" }, ["escalate", "shelve", "comment", "in-service"]],
    ["it is closed", { status: "closed" }, []],
  ])("where %s", (_, more, acts) => expect(actsOn(of(more), "Liz")).toEqual(acts));
});

test("flapping is said, and a reset to come until the status says it", () => {
  const words = (more: Partial<Incident>) => signsOf(of(more)).map((s) => s.word);
  expect(words({})).toEqual([]);
  expect(words({ flapping: true, latched: true })).toEqual(["flapping", "to be reset"]);
  expect(words({ status: "latched", latched: true })).toEqual([]);
});

test("those that were not acknowledged are told one by one, up to ten", () => {
  const failed = Array.from({ length: 12 }, (_, n) => ({ of: of({ device: `press-${n}` }), why: "no" }));
  const lines = failuresText(3, failed).split("\n");
  expect(lines[0]).toBe("3 are acknowledged, and 12 are not:");
  expect(lines.slice(1, 3)).toEqual(["press-0: no", "press-1: no"]);
  expect(lines.at(-1)).toBe("and 2 more");
});

test("a note of a person counts more than what the device said", () => {
  expect(newest(of())).toEqual({ text: "" });
  expect(newest(of({ message: "overheat" }))).toEqual({ text: "overheat" });
  const note = { at: "2026-11-27T06:02:00Z", what: "commented", by: "Liz", note: "on my way" };
  expect(newest(of({ message: "overheat", note }))).toEqual({ text: "on my way", by: "Liz", at: note.at });
});

test("those wait that are wrong now and nobody has acknowledged", () => {
  const statuses = { unacknowledged: 2, returned: 1, acknowledged: 4, shelved: 8 };
  expect(waiting({ total: 15, statuses, severities: [] })).toBe(2);
  expect(waiting({ total: 0, statuses: {}, severities: [] })).toBe(0);
});

test("an incident grows older until its device is normal again", () => {
  const now = Date.parse("2026-11-27T07:00:00Z");
  expect(lasts(of(), now)).toBe(3_600_000);
  expect(lasts(of({ until: "2026-11-27T06:00:30Z" }), now)).toBe(30_000);
});

test("a step says to whom", () => {
  expect(stepText({ at: "", what: "escalated", to: "Sara" })).toBe("escalated to Sara");
  expect(stepText({ at: "", what: "closed" })).toBe("closed");
});

describe("the focus", () => {
  test("stays at its incident, and else at its place", () => {
    expect(focusAfter(["a", "b", "c"], ["c", "b"], "b")).toBe("b");
    expect(focusAfter(["a", "b", "c"], ["a", "c"], "b")).toBe("c");
    expect(focusAfter(["a", "b"], ["a"], "b")).toBe("a");
    expect(focusAfter(["a"], [], "a")).toBeUndefined();
  });
  test("moves by rows, and not beyond the list", () => {
    const ids = ["a", "b", "c"];
    expect(moved(ids, undefined, +1)).toBe("a");
    expect(moved(ids, "a", +1)).toBe("b");
    expect(moved(ids, "c", +1)).toBe("c");
    expect(moved(ids, "a", -1)).toBe("a");
    expect(moved(ids, "gone", +1)).toBe("a");
    expect(moved([], "a", +1)).toBeUndefined();
  });
});

test("an incident has an address", () => {
  const id = "06613ca6cedd81-efe22ac81440be43e676";
  expect(placeOf(incidentPath(id))).toEqual({ view: "incident", incident: id });
  expect(placeOf("/incidents")).toEqual({ view: "incidents" });
  expect(placeOf("/on-call")).toEqual({ view: "on-call" });
  expect(placeOf("/toString")).toEqual({ view: "unknown", path: "/toString" });
});
