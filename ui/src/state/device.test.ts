import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { DeviceModel } from "./device";

/** Answers that come when the test says so. */
let waiting: { path: string; answer(body: unknown, status?: number): void }[];
let model: DeviceModel;

const device = (state: string) => ({ device: "a", state, severity: 0, since: "2026-01-01T00:00:00Z", silent: false });

/** Answers what is asked for now and fits. */
async function answer(match: RegExp, body: unknown, status = 200): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
  const found = waiting.filter((w) => match.test(w.path));
  waiting = waiting.filter((w) => !match.test(w.path));
  for (const w of found) w.answer(body, status);
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(async () => {
  vi.useFakeTimers();
  waiting = [];
  vi.stubGlobal("document", new EventTarget());
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
  vi.stubGlobal("location", new URL("http://localhost/"));
  vi.stubGlobal(
    "fetch",
    (url: string) =>
      new Promise<Response>((resolve) => {
        const path = url.replace("/api/v1", "");
        waiting.push({
          path,
          answer: (body, status = 200) => {
            const type = status < 400 ? "application/json" : "application/problem+json";
            resolve(Response.json(body, { status, headers: { "Content-Type": type } }));
          },
        });
      }),
  );
  const { DeviceModel } = await import("./device");
  model = new DeviceModel("a", () => ({}));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function answerAll(state: string): Promise<void> {
  await answer(/^\/tenants/, { silent_after: "15m", states: [] });
  await answer(/limit=15/, { items: [] });
  await answer(/\/devices\/a$/, device(state));
  await answer(/\/devices\/a\//, { items: [] });
  await answer(/events\?limit=1$/, { items: [] }); // there is no newest entry either
}

test("what was asked for before the stream spoke does not count", async () => {
  void model.refresh();
  await answer(/^\/tenants/, { silent_after: "15m", states: [] });
  await answer(/limit=15/, { items: [] });
  model["take"]("state", JSON.stringify(device("NEW")));
  await answer(/\/devices\/a$/, device("OLD"));
  expect(model.now.value?.state).toBe("NEW");
});

test("of two queries of the past the later counts", async () => {
  void model.refresh();
  await answerAll("X");
  const first = model.past.value;
  void model.refresh();
  await vi.advanceTimersByTimeAsync(0);
  const late = waiting;
  waiting = [];
  void model.refresh();
  await answerAll("X");
  const second = model.past.value;
  expect(second).not.toBe(first);
  for (const w of late) w.answer(w.path.endsWith("/a") ? device("X") : { items: [] });
  await vi.advanceTimersByTimeAsync(0);
  expect(model.past.value).toBe(second);
});

test("what a store can't serve is left out", async () => {
  void model.refresh();
  await answer(/^\/tenants/, { silent_after: "15m", states: [] });
  await answer(/limit=15/, { title: "no intervals here" }, 501);
  await answer(/\/devices\/a$/, device("X"));
  await answer(/\/readings/, { title: "no readings here" }, 501);
  await answer(/\/events/, { items: [{ device: "a", time: "2026-01-01T00:00:00Z", state: "X" }] });
  await answer(/\/devices\/a\//, { items: [] });
  expect(model.problem.value).toBe("");
  expect(model.past.value?.entries.length).toBe(1);
  expect(model.past.value?.readings).toEqual([]);
});

test("another failure is reported", async () => {
  void model.refresh();
  await answer(/^\/tenants/, { title: "the store is unavailable" }, 503);
  expect(model.problem.value).toBe("the store is unavailable");
});

test("silence is the same in every window, also in one in which nothing was heard", async () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  vi.setSystemTime(now);
  const { now: clock } = await import("./clock");
  clock.value = now;
  void model.refresh();
  await answer(/^\/tenants/, { silent_after: "15m", states: [] });
  await answer(/limit=15/, { items: [] });
  await answer(/\/devices\/a$/, device("X"));
  const heard = { items: [{ device: "a", time: "2025-12-01T00:00:00Z", state: "X" }] };
  await answer(/events\?limit=1&to=/, heard);
  await answer(/\/devices\/a\//, { items: [] });
  await answer(/events\?limit=1$/, heard);
  const past = model.past.value!;
  expect(past.gaps).toEqual([{ from: now - 86_400_000, to: now }]);
  expect(past.newest).toBe("2025-12-01T00:00:00Z");
});
