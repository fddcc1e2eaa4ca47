import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ServerEvent } from "../model/sse";
import { follow, type StreamStatus } from "./stream";

/** A server that answers each request with the next of its answers. */
class Server {
  asked: { url: string; header: Record<string, string> }[] = [];
  answers: ((signal: AbortSignal) => Response)[] = [];

  fetch = async (url: string, init: RequestInit): Promise<Response> => {
    this.asked.push({ url, header: init.headers as Record<string, string> });
    const answer = this.answers.shift();
    if (!answer) return new Promise(() => undefined);
    return answer(init.signal!);
  };
}

const stream = { headers: { "Content-Type": "text/event-stream" } };

const texts = (...parts: string[]) => () =>
  new Response(
    new ReadableStream<Uint8Array>({
      start(c) {
        for (const part of parts) c.enqueue(new TextEncoder().encode(part));
        c.close();
      },
    }),
    stream,
  );

/** An answer on which nothing comes, until the client gives it up. */
const hanging = (signal: AbortSignal) =>
  new Response(
    new ReadableStream({
      start: (c) => signal.addEventListener("abort", () => c.error(new DOMException("", "AbortError"))),
    }),
    stream,
  );

const headers = { "Content-Type": "application/problem+json" };
const problem = (status: number) => () => Response.json({ title: "no" }, { status, headers });
/** A page of a proxy. */
const page = (status: number) => () =>
  new Response("<h1>no</h1>", { status, headers: { "Content-Type": "text/html" } });

let server: Server;
let seen: ServerEvent[];
let statuses: StreamStatus[];
let end: () => void;

function start(after?: string): void {
  end = follow({
    query: {},
    after,
    events: (events) => seen.push(...events),
    status: (status) => statuses.push(status),
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  server = new Server();
  [seen, statuses] = [[], []];
  vi.stubGlobal("fetch", server.fetch);
  vi.stubGlobal("document", new EventTarget());
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
});

afterEach(() => {
  end();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("resumes after the last event, also where only a comment has moved it on", async () => {
  server.answers = [
    texts("id: f-1\nevent: state\ndata: 1\n\nid: f-2\nevent: state\nda"),
    texts(": andon\nid: f-9\n\n"),
  ];
  start("f-0");
  await vi.advanceTimersByTimeAsync(3000);
  expect(server.asked.map((a) => a.header["Last-Event-ID"])).toEqual(["f-0", "f-1", "f-9"]);
  expect(seen.map((e) => [e.type, e.data])).toEqual([["state", "1"]]);
});

test("says that it is lost, and open again", async () => {
  server.answers = [texts(), problem(503), hanging];
  start();
  await vi.advanceTimersByTimeAsync(3000);
  expect(statuses.map((s) => s.open)).toEqual([true, false, false, true]);
});

test("does not ask again for what the server can't serve", async () => {
  server.answers = [problem(501), texts()];
  start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked.length).toBe(1);
  expect(statuses.at(-1)?.problem?.status).toBe(501);
});

test.each([403, 404])("asks again, slowly, after %i: the tenant may come back", async (status) => {
  server.answers = [problem(status), hanging];
  start();
  await vi.advanceTimersByTimeAsync(7000);
  expect(server.asked.length).toBe(1);
  expect(statuses.at(-1)?.problem?.status).toBe(status);
  await vi.advanceTimersByTimeAsync(6000);
  expect(statuses[1]?.open).toBe(true);
});

test.each([200, 401, 403, 404, 501])("waits out the page of a proxy, %i", async (status) => {
  server.answers = [page(status), hanging];
  start();
  await vi.advanceTimersByTimeAsync(1000);
  expect(statuses.map((s) => s.open)).toEqual([false, true]);
  expect(statuses[0].problem?.status).toBe(0);
});

test("gives up a connection on which nothing comes, within four seconds, and takes another", async () => {
  server.answers = [hanging, hanging];
  start();
  expect(server.asked[0].url).toContain("heartbeat=1s");
  await vi.advanceTimersByTimeAsync(3400);
  expect(statuses.map((s) => s.open)).toEqual([true]);
  await vi.advanceTimersByTimeAsync(200);
  expect(statuses.map((s) => s.open)).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(server.asked.length).toBe(2);
});

test("does not give up a connection on which a heartbeat comes every second", async () => {
  const comment = new TextEncoder().encode(": andon\nid: f-1\n\n");
  let beat: ReturnType<typeof setInterval> | undefined;
  server.answers = [
    () => {
      const start = (c: ReadableStreamDefaultController) =>
        void (beat = setInterval(() => c.enqueue(comment), 1000));
      return new Response(new ReadableStream({ start }), stream);
    },
  ];
  start();
  await vi.advanceTimersByTimeAsync(60_000);
  clearInterval(beat);
  expect(statuses.map((s) => s.open)).toEqual([true]);
});

test("asks no more once it is stopped", async () => {
  server.answers = [texts(), texts()];
  start();
  await vi.advanceTimersByTimeAsync(10);
  end();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked.length).toBe(1);
});
