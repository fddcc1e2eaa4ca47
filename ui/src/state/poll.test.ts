import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Fleet, type Rise } from "../model/fleet";

/** What the server says. */
let devices: Record<string, string>; // state by device
let fails: RegExp | undefined;
let failure: number;
let asked: string[];
let fleet: Fleet;
let risen: string[];
let lost: number;
let ended: AbortController;

const severity = (state: string) => Number(/\d$/.exec(state)?.[0] ?? 0);
const shown = (id: string) => ({
  device: id, state: devices[id], severity: severity(devices[id]), since: "2026-01-01T00:00:00Z", silent: false,
});

const problem = (status: number) =>
  Response.json({}, { status, headers: { "Content-Type": "application/problem+json" } });

function answer(path: string): Response {
  asked.push(path);
  if (fails?.test(path)) return problem(failure);
  const url = new URL(path, "http://localhost");
  const all = Object.keys(devices).sort();
  if (url.pathname === "/states") {
    const items = ["NORMAL", "WARNING1", "WARNING4"].map((state) => ({
      state, severity: severity(state), letter: "", colour: "", symbol: "",
      count: all.filter((id) => devices[id] === state).length, silent: 0,
    }));
    return Response.json({ items, total: all.length, silent: 0 });
  }
  if (url.pathname === "/devices") {
    const states = url.searchParams.get("state")?.split(",");
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const fit = all.filter((id) => !states || states.includes(devices[id]));
    const [to, most] = [from + Number(url.searchParams.get("limit")), fit.length];
    return Response.json({ items: fit.slice(from, to).map(shown), next: to < most ? String(to) : undefined });
  }
  const id = decodeURIComponent(url.pathname.split("/")[2]);
  return devices[id] ? Response.json(shown(id)) : problem(404);
}

beforeEach(() => {
  vi.useFakeTimers();
  [devices, asked, risen, lost, fails, failure] = [{}, [], [], 0, undefined, 503];
  vi.stubGlobal("fetch", async (url: string) => answer(url.replace("/api/v1", "")));
  for (let i = 0; i < 2500; i++) devices[`d-${10_000 + i}`] = "NORMAL";
});

afterEach(() => {
  ended.abort();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function begin(): Promise<void> {
  const { Poller } = await import("./poll");
  fleet = new Fleet();
  ended = new AbortController();
  const show = (rises: Rise[]) => risen.push(...rises.map((r) => r.device));
  void new Poller({ fleet, show, lose: () => lost++ }, ended.signal).run();
  await vi.advanceTimersByTimeAsync(4100);
}

const state = (id: string) => fleet.states[fleet.state[fleet.find(id)!]].name;

test("the map is drawn of all pages, and what is not normal is there first", async () => {
  devices["d-10007"] = "WARNING4";
  await begin();
  expect(fleet.partial).toBe(false);
  expect(fleet.size).toBe(2500);
  expect(state("d-10007")).toBe("WARNING4");
  expect(asked[1]).toContain("state=WARNING4");
  expect(fleet.trouble.size).toBe(1);
  expect(risen).toEqual([]); // it was so before the board was opened
});

test("trouble and its end are seen within seconds", async () => {
  await begin();
  devices["d-12000"] = "WARNING1";
  await vi.advanceTimersByTimeAsync(4100);
  expect(risen).toEqual(["d-12000"]);
  expect(fleet.trouble.size).toBe(1);
  devices["d-12000"] = "NORMAL";
  await vi.advanceTimersByTimeAsync(4100);
  expect(state("d-12000")).toBe("NORMAL");
  expect(fleet.trouble.size).toBe(0);
  devices["d-12000"] = "WARNING1";
  await vi.advanceTimersByTimeAsync(4100);
  delete devices["d-12000"]; // it is retired
  await vi.advanceTimersByTimeAsync(4100);
  expect(fleet.find("d-12000")).toBeUndefined();
});

test("in a round each device is asked for once, slowly; who is new comes and who is gone goes", async () => {
  await begin();
  delete devices["d-10001"];
  devices["e-1"] = "NORMAL";
  asked = [];
  await vi.advanceTimersByTimeAsync(6 * 4000);
  const pages = asked.filter((path) => /^\/devices\?limit=1000/.test(path));
  expect(pages.length).toBe(6); // one in each step
  expect(fleet.find("d-10001")).toBeUndefined();
  expect(fleet.find("e-1")).toBeDefined();
  expect(fleet.size).toBe(2500);
  expect(fleet.counts[0]).toBe(2500);
});

test("a server that fails is reported, and asked again", async () => {
  await begin();
  fails = /states/;
  await vi.advanceTimersByTimeAsync(4100);
  expect(lost).toBe(1);
  fails = undefined;
  devices["d-10001"] = "WARNING4";
  await vi.advanceTimersByTimeAsync(4100);
  expect(fleet.trouble.size).toBe(1);
});

test("once a tenant is there again that was gone, its picture begins anew", async () => {
  await begin();
  const before = fleet.generation;
  [fails, failure] = [/./, 404];
  await vi.advanceTimersByTimeAsync(4100);
  expect(lost).toBe(1);
  fails = undefined;
  devices = { "e-1": "WARNING1" };
  await vi.advanceTimersByTimeAsync(8200);
  expect(fleet.generation).toBeGreaterThan(before);
  expect(fleet.size).toBe(1);
});
