import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Device } from "../model/fleet";
import { list, onlyById } from "./api";

const device = (device: string, severity: number, since: string) => ({ device, severity, since: `2026-01-${since}` });

let asked: string[];
let status: number;

beforeEach(() => {
  [asked, status, onlyById.value] = [[], 501, false];
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    if (/sort=(severity|since)/.test(url)) return Response.json({ title: "no" }, { status });
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
