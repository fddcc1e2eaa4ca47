import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Device } from "../model/fleet";
import { all, first, list, onlyById } from "./api";

const device = (device: string, severity: number, since: string) => ({ device, severity, since: `2026-01-${since}` });

const headers = { "Content-Type": "application/problem+json" };
const refusal = (title: string, status: number) => Response.json({ title }, { status, headers });

let asked: string[];
let status: number;

beforeEach(() => {
  [asked, status, onlyById.value] = [[], 501, false];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    if (/sort=(severity|since)/.test(url)) return refusal("no", status);
    return Response.json({ items: [device("a", 16, "03"), device("b", 64, "02"), device("c", 16, "01")], next: "x" });
  });
});

afterEach(() => vi.unstubAllGlobals());

const names = async (sort: string) =>
  (await list<Device>("/devices", { state: "WARNING*", sort })).items.map((d) => d.device).join("");

test("where a store lists devices by id only, a page is put into order here", async () => {
  expect(await names("severity")).toBe("bca");
  expect(await names("since")).toBe("cba");
  expect(await names("device")).toBe("abc");
  expect(asked.filter((url) => url.includes("sort=s")).length, "it is not asked in vain again").toBe(1);
  expect(asked.every((url) => url.includes("state=WARNING"))).toBe(true);
});

test("another error is reported", async () => {
  status = 503;
  await expect(names("severity")).rejects.toThrow("no");
  expect(onlyById.value).toBe(false);
});

/** A server with so many items, which gives pages of 1,000 at most; its cursors are numbers. */
function longList(total: number): void {
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    const query = new URL(url, "http://x").searchParams;
    const [limit, from] = [Number(query.get("limit")), Number(query.get("cursor"))];
    if (limit < 1 || limit > 1000) return refusal("no such limit", 400);
    const to = Math.min(total, from + limit);
    const items = Array.from({ length: to - from }, (_, i) => from + i);
    return Response.json({ items, next: to < total ? String(to) : undefined });
  });
}

test("the first items of a list come in as many requests as it takes", async () => {
  longList(2500);
  const { items, next } = await first<number>("/incidents", { status: "open", limit: "100" }, 1300);
  expect([items.length, items.at(-1), next]).toEqual([1300, 1299, "1300"]);
  expect(asked.length).toBe(2);
  expect(asked.every((url) => url.includes("status=open"))).toBe(true);
});

test("all of a list is cut where there are more than are wanted", async () => {
  longList(2500);
  const found = async (most: number) => {
    const { items, cut } = await all<number>("/devices", {}, most);
    return [items.length, cut];
  };
  expect(await found(2000)).toEqual([2000, true]);
  expect(await found(2500)).toEqual([2500, false]);
  expect(await found(5000)).toEqual([2500, false]);
});
