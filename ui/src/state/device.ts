import { signal } from "@preact/signals";
import { answersOf, type Answer, type Assignment, type Escalated } from "../model/answered";
import type { Device, Escalation } from "../model/fleet";
import type { Reading } from "../model/readings";
import { gaps, type Run, type Window } from "../model/strip";
import { parseDuration } from "../model/time";
import { Problem, all, isRefused, list, reason, request, tenant } from "../net/api";
import { keepsIncidents } from "../net/session";
import { follow } from "../net/stream";
import { shownOf, usualRange, type Shown } from "../model/window";
import type { Query } from "../model/address";
import { now } from "./clock";
import { incidentsChanged } from "./incidents";
import { watch } from "./poll";
import { pagePhase, stateByName } from "./live";

/** An entry of a device. */
export interface Entry {
  device: string;
  time: string;
  state: string;
  operator?: string;
  escalated_to?: string;
  escalation?: Escalation; // with escalated_to
  message?: string;
  attributes?: Record<string, unknown>;
}

interface Interval {
  state: string;
  from: string;
  to?: string;
  seconds: number;
}

/** What is known of a part of a device's past. */
export interface Past {
  window: Window;
  runs: Run[];
  entries: Entry[]; // newest first
  cut: boolean; // there are older entries in the window
  readings: Reading[];
  readingsCut: boolean;
  answers: Answer[]; // newest first
  gaps: Window[];
  /** The newest entry of all, where the window has none; absent: there is none at all. */
  newest?: string;
  /** Something is kept of this device. */
  known: boolean;
}

const mostEntries = 5000;
const mostReadings = 10_000;
const refreshEvery = 20_000;
/** So many runs of one state are seen unless the address says otherwise. */
const usualRuns = 15;

interface Settings {
  silent_after: string;
  states: { name: string; severity: number; letter: string; colour: string; symbol: string }[];
}

/** A device as its page shows it: kept up to date from start until stop. */
export class DeviceModel {
  now = signal<Device | undefined>(undefined);
  past = signal<Past | undefined>(undefined);
  settings = signal<Settings | undefined>(undefined);
  problem = signal<string>("");
  /** The device shows nothing now: never seen, retired, or it only sent readings. */
  absent = signal(false);
  lost = signal(false);
  /** The part of time that is shown unless the address names one. */
  usual = signal("24h");
  private end = new AbortController();
  private due: ReturnType<typeof setTimeout> | undefined;
  /** How often the stream has spoken: an answer that was asked for before that is stale. */
  private spoken = 0;
  /** Of two queries of the past, the later one counts, whichever is answered first. */
  private turn = 0;

  constructor(
    readonly id: string,
    private query: () => Query,
  ) {}

  private get shown(): Shown {
    return shownOf(this.query(), now.peek(), this.usual.peek());
  }

  /** Opens the stream first and then asks, so that no change falls between the two. */
  start(): () => void {
    pagePhase.value = "loading";
    let rounds = 0;
    const close = follow({
      query: { device: this.id, incidents: keepsIncidents.peek() ? "true" : undefined },
      opened: () => {
        void this.refresh();
        incidentsChanged();
      },
      events: (events) => {
        for (const e of events) this.take(e.type, e.data);
      },
      status: ({ open, problem }) => {
        if (problem && isRefused(problem)) return this.fail(problem);
        const polled = problem?.status === 501;
        this.lost.value = !open && !polled;
        pagePhase.value = open ? "live" : polled ? "polling" : "lost";
        if (!polled) return;
        void this.refresh();
        void watch(this.end.signal, (error) => this.heard(error));
      },
    });
    const timer = setInterval(() => {
      if (document.hidden) return;
      // Without a feed only asking tells, so it is done more often.
      if (pagePhase.peek() === "polling" || ++rounds % 4 === 0) void this.refresh();
    }, refreshEvery / 4);
    return () => {
      pagePhase.value = undefined;
      close();
      clearInterval(timer);
      clearTimeout(this.due);
      this.end.abort();
    };
  }

  /**
   * Shows nothing: the tenant is gone, or is no longer for this person. What is still asked for is
   * stale. The stream says when it is there again.
   */
  private fail(problem: Problem): void {
    this.end.abort();
    this.end = new AbortController();
    this.spoken++;
    this.turn++;
    this.now.value = this.past.value = this.settings.value = undefined;
    this.absent.value = this.lost.value = false;
    this.problem.value = reason(problem);
    pagePhase.value = "failed";
  }

  /** Takes whether a server without a feed has answered. */
  private heard(error?: unknown): void {
    const was = this.lost.peek();
    this.lost.value = error !== undefined;
    pagePhase.value = this.lost.value ? "lost" : "polling";
    if (was && !this.lost.value) void this.refresh();
  }

  private take(type: string, data: string): void {
    if (type === "incident") return incidentsChanged();
    if (type === "state") {
      const d = JSON.parse(data) as Device;
      if (d.device !== this.id) return;
      this.spoken++;
      this.now.value = d;
      this.absent.value = false;
    }
    clearTimeout(this.due);
    this.due = setTimeout(() => void this.refresh(), 200);
  }

  /** Asks for all that the page shows. */
  async refresh(): Promise<void> {
    try {
      this.settings.value ??= await this.ask<Settings>(`/tenants/${encodeURIComponent(tenant.value)}`);
      if (!this.past.peek()) await this.readUsual();
      await Promise.all([this.readNow(), this.readPast()]);
      this.problem.value = "";
    } catch (error) {
      if (!this.end.signal.aborted) this.problem.value = reason(error);
    }
  }

  private ask<T>(path: string): Promise<T> {
    return request<T>("GET", path, { signal: this.end.signal });
  }

  get path(): string {
    return `/devices/${encodeURIComponent(this.id)}`;
  }

  private async readNow(): Promise<void> {
    const spoken = this.spoken;
    try {
      const d = await this.ask<Device>(this.path);
      if (spoken !== this.spoken) return;
      this.now.value = d;
      this.absent.value = false;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
      if (spoken !== this.spoken) return;
      this.now.value = undefined;
      this.absent.value = true;
    }
  }

  private async readPast(): Promise<void> {
    const [{ window, range }, turn] = [this.shown, ++this.turn];
    // A window that ends now has no upper bound: what has just happened is later than the last
    // full second, and the clock of this machine may be seconds after the server's.
    const to = range ? undefined : iso(window.to);
    const span = { from: iso(window.from), to };
    const some = <T>(what: string, most: number) =>
      all<T>(`${this.path}/${what}`, span, most, this.end.signal).catch(orNothing<T>);
    const [intervals, entries, readings, assignments, escalated, before] = await Promise.all([
      some<Interval>("intervals", mostEntries),
      some<Entry>("events", mostEntries),
      some<Reading>("readings", mostReadings),
      some<Assignment>("assignments", 1000),
      // By when they were made, which only their records say: also that of an older entry.
      all<Escalated>(`${this.path}/escalations`, { to }, 1000, this.end.signal).catch(
        orNothing<Escalated>,
      ),
      this.heardBefore(span.from),
    ]);
    const newest = entries.items[0] ?? (await this.newest<Entry>("events"));
    if (turn !== this.turn) return;
    this.past.value = {
      window,
      runs: intervals.items.map((i) => this.run(i)),
      entries: entries.items,
      cut: entries.cut,
      readings: readings.items,
      readingsCut: readings.cut,
      answers: answersOf(assignments.items, escalated.items, range ? { ...window, to: Infinity } : window),
      gaps: this.gapsOf(window, entries, readings, before),
      newest: newest?.time,
      known:
        newest !== undefined || [readings, assignments, escalated].some((l) => l.items.length > 0) || before.length > 0,
    };
  }

  /** The newest item of a list, or the newest before a time. */
  private async newest<T>(what: string, before?: string): Promise<T | undefined> {
    const query = { limit: "1", to: before };
    const page = await list<T>(`${this.path}/${what}`, query, this.end.signal).catch(orNothing<T>);
    return page.items[0];
  }

  /** When the device was heard last before a window: what it was silent for may begin there. */
  private async heardBefore(from: string): Promise<number[]> {
    const last = await Promise.all([
      this.newest<Entry>("events", from),
      this.newest<Reading>("readings", from),
    ]);
    return last.flatMap((e) => (e ? [Date.parse(e.time)] : []));
  }

  private async readUsual(): Promise<void> {
    const last = await this.ask<{ items: Interval[] }>(
      `${this.path}/intervals?limit=${usualRuns}`,
    ).catch(orNothing<Interval>);
    const oldest = last.items.at(-1);
    this.usual.value = usualRange(oldest && Date.parse(oldest.from), now.peek());
  }

  private run(i: Interval): Run {
    const known = this.settings.value?.states.find((s) => s.name === i.state);
    const severity = known?.severity ?? stateByName.peek().get(i.state)?.severity ?? 16;
    return { state: i.state, severity, from: Date.parse(i.from), to: i.to ? Date.parse(i.to) : Infinity };
  }

  /** Where the device was silent, as far as all that it sent is known. */
  private gapsOf(
    window: Window,
    entries: { items: Entry[]; cut: boolean },
    readings: { items: Reading[]; cut: boolean },
    before: number[],
  ): Window[] {
    const inside = [...entries.items, ...readings.items].map((e) => Date.parse(e.time));
    const oldest = (items: { time: string }[], cut: boolean) =>
      cut ? Date.parse(items[items.length - 1].time) : window.from;
    const known = Math.max(oldest(entries.items, entries.cut), oldest(readings.items, readings.cut));
    const heard = inside.filter((t) => t >= known);
    if (known === window.from) heard.push(...before);
    heard.sort((a, b) => a - b);
    const to = Math.min(window.to, now.peek()); // nothing has been missed yet of what is to come
    return gaps(heard, { from: known, to }, this.silentAfter * 1000);
  }

  /** Seconds. */
  get silentAfter(): number {
    return parseDuration(this.settings.value?.silent_after ?? "15m") || 900;
  }
}

/** What a store can't serve is left out; the rest of the page is still of use. */
function orNothing<T>(error: unknown): { items: T[]; cut: boolean } {
  if (error instanceof Problem && error.status === 501) return { items: [], cut: false };
  throw error;
}

const iso = (t: number) => new Date(t).toISOString();
