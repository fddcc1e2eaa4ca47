import { EventReader, type ServerEvent } from "../model/sse";
import type { Query } from "../model/address";
import { Problem, fetched, isAborted, isRefused, tenant } from "./api";

/** How a stream is: open, or since when it is not and why. */
export interface StreamStatus {
  open: boolean;
  problem?: Problem;
}

export interface Follower {
  query: Query;
  after?: string; // a position of the feed; without one the stream begins now
  /** The stream is open (again): from here on nothing is missed. */
  opened?(): void;
  /** Events in the order of the feed, and once in a while none, which says that nothing changed. */
  events(events: ServerEvent[]): void;
  status(status: StreamStatus): void;
}

/** The server is asked to be heard every second, so that one that hangs is told from a quiet fleet. */
const heartbeat = "1s";
/**
 * A connection on which nothing comes for so many looks, one every half a second, is dead. Looks are
 * counted, and not time: while the page itself hangs, or the machine sleeps, there are none. A
 * server that is busy may take longer until it answers.
 */
const [looksEvery, quietLooks, unansweredLooks] = [500, 7, 30];
const pauses = [250, 500, 1000, 2000, 3000];

/** What is refused, for example since its tenant is deleted, may be there again later. */
export const refusedPause = 10_000;
/** After these something else is done than to ask again: the token, or polling. */
const final = [401, 501];

/**
 * Follows the stream of changes until the returned function is called. After a break it resumes at
 * the last position, so that nothing is missed.
 */
export function follow(follower: Follower): () => void {
  const stop = new AbortController();
  void run(follower, stop.signal);
  return () => stop.abort();
}

async function run(follower: Follower, stop: AbortSignal): Promise<void> {
  let at = follower.after;
  let failures = 0;
  while (!stop.aborted) {
    let refused = false;
    try {
      await once(follower, stop, at, (id) => {
        at = id;
        failures = 0;
      });
      if (!stop.aborted) follower.status({ open: false });
    } catch (error) {
      if (stop.aborted) return;
      const problem = error instanceof Problem ? error : new Problem(0, "The connection is lost");
      follower.status({ open: false, problem });
      if (final.includes(problem.status)) return;
      refused = isRefused(problem);
    }
    const usual = pauses[Math.min(failures++, pauses.length - 1)];
    await pause(refused ? refusedPause : usual, stop);
  }
}

const eventStream = "text/event-stream";

/** One connection, until it ends. */
async function once(
  follower: Follower,
  stop: AbortSignal,
  after: string | undefined,
  moved: (id: string) => void,
): Promise<void> {
  const connection = new AbortController();
  const end = () => connection.abort();
  stop.addEventListener("abort", end);
  let [looks, most] = [0, unansweredLooks];
  const watchdog = setInterval(() => ++looks >= most && end(), looksEvery);
  try {
    const header: Record<string, string> = { Accept: eventStream };
    if (after) header["Last-Event-ID"] = after;
    const of = tenant.value === "default" ? undefined : tenant.value;
    const query = { ...follower.query, heartbeat, tenant: of };
    const asked = { query, header, signal: connection.signal };
    const response = await fetched("GET", "/events/stream", asked);
    if (!response.headers.get("Content-Type")?.startsWith(eventStream)) {
      throw new Problem(0, "What answers is not the server");
    }
    const body = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const reader = new EventReader(after);
    [looks, most] = [0, quietLooks];
    follower.status({ open: true });
    follower.opened?.();
    for (;;) {
      const { done, value } = await body.read();
      if (done || stop.aborted) return;
      looks = 0;
      const events = reader.read(value);
      if (events.length === 0) continue;
      follower.events(events.filter((e) => e.type !== ""));
      moved(events[events.length - 1].id);
    }
  } catch (error) {
    if (isAborted(error)) throw new Problem(0, "The server is silent");
    throw error;
  } finally {
    clearInterval(watchdog);
    stop.removeEventListener("abort", end);
    connection.abort();
  }
}

/** Waits, but not longer than until the network is back or somebody looks. */
export function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      stop.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms * (0.8 + 0.4 * Math.random()));
    addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    stop.addEventListener("abort", done);
  });
}
