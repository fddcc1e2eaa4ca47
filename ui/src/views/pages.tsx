import { useSignalEffect, type Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Query } from "../model/address";
import { first, isAborted, isGone, list, longestPage, reason, type Page } from "../net/api";
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
  const latest = useRef({ read, every });
  latest.current = { read, every };
  const last = useRef(Date.now());
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const run = () => {
    due.current = undefined;
    if (document.hidden) return;
    last.current = Date.now();
    if (!latest.current.read()) soon();
  };
  const soon = () => {
    const wait = last.current + latest.current.every - Date.now();
    due.current ??= setTimeout(run, Math.max(settled, wait));
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

/** A request that is not answered so long is given up for another one. */
const patience = 10_000;

/**
 * The pages of a list that were read so far, for a query, kept up to date: what changes is seen
 * without a reload. A list that is too long for one request is asked for less often.
 */
export function usePages<T>(path: string, asked: Query, every = atMostEvery, of?: Signal<number>) {
  const [state, setState] = useState<Pages<T>>({ items: [], busy: true, problem: "" });
  const abort = useRef<AbortController | undefined>(undefined);
  const began = useRef(0); // when the list was asked for again; 0: it has been answered
  const show = async (find: (signal: AbortSignal) => Promise<Page<T>>, before: T[] = []) => {
    abort.current?.abort();
    const { signal } = (abort.current = new AbortController());
    try {
      const { items, next } = await find(signal);
      setState({ items: [...before, ...items], next, busy: false, problem: "" });
    } catch (error) {
      if (isAborted(error)) return;
      const left = isGone(error) ? { items: [], next: undefined } : {};
      setState((s) => ({ ...s, ...left, busy: false, problem: reason(error) }));
    }
    began.current = 0;
  };
  const more = (before: T[], cursor: string | undefined) => {
    setState({ items: before, next: cursor, busy: true, problem: "" });
    void show((signal) => list<T>(path, { ...asked, cursor }, signal), before);
  };
  useEffect(() => {
    more([], undefined);
    return () => abort.current?.abort();
  }, [path, asked]);
  // What is on the screen is read to its end before it changes, in whole pages.
  const perPage = Number(asked.limit);
  const most = Math.max(1, Math.ceil(state.items.length / perPage)) * perPage;
  const requests = Math.ceil(most / longestPage);
  const again = () => {
    // Where each change began it anew, a slow list would never come.
    if (state.busy || Date.now() - began.current < patience * requests) return false;
    began.current = Date.now();
    void show((signal) => first<T>(path, asked, most, signal));
    return true;
  };
  useChanges(again, requests > 1 ? atMostEvery * requests : every, of);
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
