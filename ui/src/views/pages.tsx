import { useSignalEffect, type Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Query } from "../model/address";
import { pageFor } from "../model/window";
import { isAborted, list, reason } from "../net/api";
import { link, version } from "../state/live";

/** In a storm a list is not asked for with every change. */
const atMostEvery = 3000;
/** Changes come in groups: the rest of one is waited for. */
const settled = 150;
/** How often a list is asked for although nothing changed, as far as the stream says. */
const anyway = 20_000;

/**
 * Calls read after changes, not more often than every some milliseconds, and again where it says
 * that it could not.
 */
export function useChanges(read: () => boolean, every: number, of: Signal<number> = version): void {
  const latest = useRef(read);
  latest.current = read;
  const last = useRef(Date.now());
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const run = () => {
    due.current = undefined;
    if (document.hidden) return;
    last.current = Date.now();
    if (!latest.current()) soon();
  };
  const soon = () => {
    due.current ??= setTimeout(run, Math.max(settled, last.current + every - Date.now()));
  };
  useSignalEffect(() => {
    of.value;
    link.value;
    soon();
  });
  useEffect(() => {
    const timer = setInterval(soon, anyway);
    document.addEventListener("visibilitychange", soon);
    return () => {
      clearTimeout(due.current);
      clearInterval(timer);
      document.removeEventListener("visibilitychange", soon);
    };
  }, []);
}

interface Pages<T> {
  items: T[];
  next?: string;
  busy: boolean;
  problem: string;
}

/**
 * The pages of a list that were read so far, for a query, kept up to date: what changes is seen
 * without a reload.
 */
export function usePages<T>(path: string, asked: Query, every = atMostEvery, of?: Signal<number>) {
  const [state, setState] = useState<Pages<T>>({ items: [], busy: true, problem: "" });
  const abort = useRef<AbortController | undefined>(undefined);
  const read = async (before: T[], cursor: string | undefined, query = asked) => {
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    try {
      let { items, next } = await list<T>(path, { ...query, cursor }, mine.signal);
      // A page of a search may end early. What is on the screen is read to its end before it changes.
      while (next && query !== asked && items.length < Number(query.limit)) {
        const more = await list<T>(path, { ...query, cursor: next }, mine.signal);
        [items, next] = [[...items, ...more.items], more.next];
      }
      setState({ items: [...before, ...items], next, busy: false, problem: "" });
    } catch (error) {
      if (!isAborted(error)) setState((s) => ({ ...s, busy: false, problem: reason(error) }));
    }
  };
  const more = (before: T[], cursor: string | undefined) => {
    setState({ items: before, next: cursor, busy: true, problem: "" });
    void read(before, cursor);
  };
  useEffect(() => {
    more([], undefined);
    return () => abort.current?.abort();
  }, [path, asked]);
  useChanges(() => {
    const limit = pageFor(state.items.length, Number(asked.limit));
    if (state.busy) return false;
    if (limit) void read([], undefined, { ...asked, limit: String(limit) });
    return true;
  }, every, of);
  return { ...state, more: state.next !== undefined, next: () => more(state.items, state.next) };
}

/** Reads the next page where the end of the list comes into view, or the button is pressed. */
export function More({ pages }: { pages: { more: boolean; busy: boolean; problem: string; next(): void } }) {
  const button = useRef<HTMLButtonElement>(null);
  const { more, busy, problem, next } = pages;
  useEffect(() => {
    if (!more || busy || problem) return;
    const observer = new IntersectionObserver(
      (seen) => seen.some((s) => s.isIntersecting) && next(),
      { rootMargin: "0px 0px 400px 0px" },
    );
    observer.observe(button.current!);
    return () => observer.disconnect();
  });
  if (!more) return null;
  return (
    <button ref={button} type="button" class="more" disabled={busy} onClick={next}>
      More
    </button>
  );
}
