import { computed, effect, signal } from "@preact/signals";
import { expire, newFor, raise, settle, type Alarm } from "../model/alarms";
import { Fleet, type Device, type Rise, type Snapshot, type StateCounts } from "../model/fleet";
import type { ServerEvent } from "../model/sse";
import type { StateDef } from "../model/states";
import { Problem, all, isGone, isRefused, reason, request, signInNeeded, tenant } from "../net/api";
import { keepsIncidents } from "../net/session";
import { follow, pause, refusedPause } from "../net/stream";
import { Poller, watch } from "./poll";
import { now } from "./clock";
import { counts, incidentsChanged, learnIncidents } from "./incidents";

/** How the picture of the fleet is. */
export type Phase =
  | "idle"
  | "loading" // nothing is there yet
  | "live"
  | "polling" // the server has no feed: asked every few seconds
  | "lost" // what is shown is old
  | "failed"; // nothing can be shown

// Whatever has happened, the board tries again by itself: a television has no keyboard.

export interface Link {
  phase: Phase;
  why?: string;
}

export const fleet = new Fleet();
/** Grows with every change of the fleet. Who reads the fleet reads this, to be drawn again. */
export const version = signal(0);
export const link = signal<Link>({ phase: "idle" });
/** How the picture of a page is that has a stream of its own. */
export const pagePhase = signal<Phase | undefined>(undefined);
export const shownPhase = computed(() => pagePhase.value ?? link.value.phase);
/** When what is shown was last known to be true, in milliseconds. */
export const asOf = signal(0);
export const alarms = signal<Alarm[]>([]);
/** The newest trouble, for sound and screen readers. */
export const risen = signal<Rise[]>([]);

/** The states of the tenant, by name. */
export const stateByName = computed(() => {
  version.value;
  return new Map<string, StateDef>(fleet.states.map((s) => [s.name, s]));
});

/** A break that is shorter is not worth a banner: a restart behind a proxy takes that long. */
const lostAfter = 1000;

let stop: (() => void) | undefined;
let of = "";

/** Makes the picture of the fleet live; it stays so until the tenant changes. */
export function startFleet(): void {
  if (stop && of === tenant.value) return;
  stopFleet();
  of = tenant.value;
  const session = new AbortController();
  stop = () => session.abort();
  link.value = { phase: "loading" };
  void load(session.signal);
}

export function stopFleet(): void {
  stop?.();
  stop = undefined;
  alarms.value = [];
  if (fleet.generation > 0 && of !== tenant.value) fleet.load(empty);
  fleet.generation = 0;
  link.value = { phase: "idle" };
}

const empty: Snapshot = { position: "", states: [], devices: [], silent: [] };

/** Loads the fleet, as often as it takes, and goes on with the stream or by asking. */
async function load(ended: AbortSignal): Promise<void> {
  for (let failures = 0; !ended.aborted; failures++) {
    try {
      const [snapshot] = await Promise.all([
        request<Snapshot>("GET", "/fleet", { signal: ended }),
        learnIncidents(ended),
      ]);
      if (ended.aborted) return;
      fleet.partial = false;
      show(fleet.load(snapshot));
      // It is live once the stream is open: until then nobody would notice that the server hangs.
      if (link.value.phase === "failed") link.value = { phase: "loading" };
      continueFrom(snapshot.position, ended);
      return;
    } catch (error) {
      if (ended.aborted) return;
      if (error instanceof Problem && error.status === 501) return void poll(ended);
      lose(error);
      await pause(isRefused(error) ? refusedPause : Math.min(5000, 500 * 2 ** failures), ended);
    }
  }
}

function lose(error: unknown): void {
  if (isGone(error) && fleet.generation > 0) {
    fleet.load(empty); // what was there is of a tenant that is no more
    fleet.generation = 0;
    alarms.value = [];
    version.value++;
  }
  link.value = { phase: fleet.generation > 0 ? "lost" : "failed", why: reason(error) };
}

/** Follows the stream from where the snapshot was taken. */
function continueFrom(position: string, ended: AbortSignal): void {
  let banner: ReturnType<typeof setTimeout> | undefined;
  const reload = () => {
    close();
    void load(ended);
  };
  const end = follow({
    query: { incidents: keepsIncidents.peek() ? "true" : undefined },
    after: position,
    opened() {
      void refreshSilence(ended);
      incidentsChanged(); // what changed during a break is not told
    },
    events(events) {
      asOf.value = Date.now();
      if (events.length === 0) return;
      if (events.some((e) => e.type === "reset" || e.type === "tenant")) return reload();
      if (events.some((e) => e.type === "incident")) incidentsChanged();
      const more = events.filter((e) => e.type === "silence").map((e) => takeSilence(e.data));
      if (more.includes(true)) void refreshSilence(ended);
      show(take(events));
    },
    status({ open, problem }) {
      if (open) {
        clearTimeout(banner);
        banner = undefined;
        link.value = { phase: "live" };
        asOf.value = Date.now();
      } else if (isRefused(problem) || problem?.status === 501) {
        reload(); // the tenant is gone, or the position is of another store
      } else {
        const why = problem ?? new Error("The connection is lost");
        banner ??= setTimeout(() => lose(why), lostAfter);
      }
    },
  });
  const close = () => {
    clearTimeout(banner);
    end();
    ended.removeEventListener("abort", close);
  };
  ended.addEventListener("abort", close);
}

/** Takes the events of the stream into the fleet, in their order. */
function take(events: ServerEvent[]): Rise[] {
  const rises: Rise[] = [];
  for (const event of events) {
    if (event.type === "gone") {
      fleet.remove((JSON.parse(event.data) as Device).device);
    } else if (event.type === "state") {
      const rise = fleet.apply(JSON.parse(event.data) as Device);
      if (rise) rises.push(rise);
    }
  }
  if (events.length > 0) version.value++;
  return rises.filter((r) => fleet.severity(r.cell) > 0);
}

function show(rises: Rise[]): void {
  asOf.value = Date.now();
  version.value++;
  alarms.value = raise(settle(alarms.peek(), isWell), rises, Date.now());
  if (rises.length > 0) risen.value = rises;
}

const isWell = (device: string) => {
  const cell = fleet.find(device);
  return cell === undefined || fleet.severity(cell) === 0;
};

export const states = (signal?: AbortSignal) => request<StateCounts>("GET", "/states", { signal });

/** For a server without a feed. */
function poll(ended: AbortSignal): Promise<void> {
  const shown = (rises: Rise[]) => {
    show(rises);
    link.value = { phase: "polling" };
  };
  void watch(ended, (error) => error && lose(error));
  return new Poller({ fleet, show: shown, lose }, ended).run();
}

/** Up to so many silent devices are asked for by list; beyond that the snapshot is shorter. */
const mostBySilentList = 5000;

/** What the stream said of silence while the answer to a query of it was awaited. */
let turned: Map<string, boolean> | undefined;

/**
 * Asks which devices are silent, once the stream is open: it tells the rest. The counts tell cheaply
 * whether there is anything to ask.
 */
async function refreshSilence(ended: AbortSignal): Promise<void> {
  const meanwhile = (turned = new Map<string, boolean>());
  try {
    const counts = await states(ended);
    if (counts.silent === 0 && fleet.silentTotal === 0) return;
    let silent: string[];
    if (counts.silent <= mostBySilentList) {
      const mark = fleet.marks();
      const found = await all<Device>("/devices", { silent: "true" }, mostBySilentList * 2, ended);
      silent = found.items.map((d) => d.device);
      for (const d of found.items) fleet.learn(d, mark(d.device));
    } else {
      const snapshot = await request<Snapshot>("GET", "/fleet", { signal: ended });
      silent = snapshot.silent.map((i) => snapshot.devices[i][0]);
    }
    if (ended.aborted || turned !== meanwhile) return; // a later query was sent
    fleet.setAllSilent(silent);
    for (const [id, is] of meanwhile) fleet.turn(id, is);
    version.value++;
  } catch {
    // The stream says when the server is lost; when it is open again this is asked again.
  } finally {
    if (turned === meanwhile) turned = undefined;
  }
}

/** Takes what the stream says of silence; true: it was too much to be said. */
function takeSilence(data: string): boolean {
  const { silent, heard, more } = JSON.parse(data) as { silent: string[]; heard: string[]; more?: boolean };
  for (const [ids, is] of [[silent, true], [heard, false]] as const) {
    for (const id of ids) {
      fleet.turn(id, is);
      turned?.set(id, is);
    }
  }
  return more === true;
}

/** New trouble stops being new, also where nothing else happens. */
export function startAlarms(): void {
  effect(() => {
    now.value;
    alarms.value = expire(alarms.peek(), Date.now());
  });
  let wasNeeded = signInNeeded.peek();
  effect(() => {
    const needed = signInNeeded.value;
    if (needed && !wasNeeded) stopFleet();
    wasNeeded = needed;
  });
}

/** A window of maintenance begins and ends for devices of which the stream says nothing. */
export function startMaintenance(): void {
  let before = suppressed.peek();
  effect(() => {
    if (suppressed.value === before) return;
    before = suppressed.value;
    fleet.round++;
    version.value = version.peek() + 1;
  });
}

const suppressed = computed(() => counts.value?.statuses.suppressed ?? 0);

export const isNew = (device: string): boolean => {
  const alarm = alarms.value.find((a) => a.device === device);
  return alarm !== undefined && Date.now() - alarm.at < newFor;
};

