import { useEffect, useRef, useState } from "preact/hooks";
import type { Agenda } from "../model/agenda";
import { isAborted, isGone, reason, request, tenant } from "../net/api";
import { Notice } from "./parts";

export interface Found<T> {
  is?: T;
  problem: string;
  /** Asks at once, after a change from here. */
  again(): void;
}

/** How often these pages ask again: people change what they plan rarely. */
const askedEvery = 30_000;

/** What is found now, and again after a while. */
export function useAgain<T>(find: (signal: AbortSignal) => Promise<T>, of: unknown[]): Found<T> {
  const [state, setState] = useState<Omit<Found<T>, "again">>({ problem: "" });
  const read = useRef(() => {});
  useEffect(() => {
    const ended = new AbortController();
    read.current = () =>
      void find(ended.signal).then(
        (is) => setState({ is, problem: "" }),
        (error) => {
          if (isAborted(error)) return;
          setState((s) => ({ is: isGone(error) ? undefined : s.is, problem: reason(error) }));
        },
      );
    read.current();
    const timer = setInterval(() => !document.hidden && read.current(), askedEvery);
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  }, [tenant.value, ...of]);
  return { ...state, again: () => read.current() };
}

/** What there is instead of a list that has not come, has failed, or is empty. */
export function Instead({ of, none }: { of: Found<{ items: unknown[] }>; none: string }) {
  return (
    <>
      {of.problem && <Notice kind="error">{of.problem}</Notice>}
      {!of.is && !of.problem && <Notice kind="loading">Loading…</Notice>}
      {of.is?.items.length === 0 && <Notice kind="empty">{none}</Notice>}
    </>
  );
}

/** What is planned within the days of a calendar. */
export const agendaOf = (days: number[], signal: AbortSignal): Promise<Agenda> => {
  const iso = (t: number) => new Date(t).toISOString();
  return request<Agenda>("GET", "/agenda", { query: { from: iso(days[0]), to: iso(days[days.length - 1]) }, signal });
};
