import { signal } from "@preact/signals";
import { snapshotOf, type Device, type Fleet, type Rise, type StateCounts } from "../model/fleet";
import { Problem, isGone, list, request } from "../net/api";

/** What is polled for, and who learns of it. */
export interface Polled {
  fleet: Fleet;
  /** The picture has changed; these devices are worse than they were. */
  show(rises: Rise[]): void;
  lose(error: unknown): void;
}

/** How many devices of the map have been asked for while it is not complete yet. */
export const collected = signal(0);

const every = 4000;
const perPage = 1000;
/** A round through all devices takes so many steps, however many there are: two minutes. */
const stepsOfRound = 30;
/** Devices that are no longer in the list of trouble are asked for one by one, at most so many. */
const mostSingly = 50;

/**
 * Reports once a second whether a server without a feed answers. Requests to a server that hangs
 * don't fail by themselves, so these have three seconds.
 */
export async function watch(ended: AbortSignal, told: (error?: unknown) => void): Promise<void> {
  while (!ended.aborted) {
    try {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(3000)]);
      await request("GET", "/session", { signal, quiet: true });
      told();
    } catch (error) {
      if (!ended.aborted) told(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/**
 * The picture of a server without a feed. What is not normal is asked for every few seconds, all
 * devices page by page and slowly: the map of a large fleet is minutes old where a device is well.
 */
export class Poller {
  private counts: StateCounts | undefined;
  private first = true; // the map is not complete yet
  private all: Device[] = []; // so far, in the first round
  private seen = new Set<string>(); // in this round
  private cursor: string | undefined;

  constructor(
    private of: Polled,
    private ended: AbortSignal,
  ) {}

  /** Asks until it is ended. */
  async run(): Promise<void> {
    this.of.fleet.partial = true;
    // The map can be asked for once it is known how many devices there are.
    const lose = (error: unknown) => {
      if (isGone(error)) this.counts = undefined; // it begins anew once it is there again
      this.of.lose(error);
    };
    await this.again(() => this.askTrouble(), lose, () => this.counts === undefined);
    await Promise.all([
      this.again(() => this.askTrouble(), lose),
      this.again(() => this.walk(), () => this.startOver()),
    ]);
  }

  private async again(
    step: () => Promise<void>,
    failed: (error: unknown) => void,
    wanted: () => boolean = () => true,
  ): Promise<void> {
    while (!this.ended.aborted && wanted()) {
      try {
        await step();
      } catch (error) {
        if (this.ended.aborted) return;
        failed(error);
      }
      if (wanted()) await new Promise((resolve) => setTimeout(resolve, every));
    }
  }

  /** Begins the round anew: the list can't be continued. */
  private startOver(): void {
    [this.cursor, this.all, this.seen] = [undefined, [], new Set()];
  }

  private tell(rises: Rise[]): void {
    // What pages say is older than the counts.
    if (this.counts) this.of.fleet.setCounts(this.counts);
    this.of.show(rises);
  }

  /** Asks for counts and for what is not normal. */
  private async askTrouble(): Promise<void> {
    const counts = await request<StateCounts>("GET", "/states", { signal: this.ended });
    const bad = counts.items.filter((s) => s.severity > 0 && s.count > 0).map((s) => s.state);
    const query = { state: bad.join(","), limit: String(perPage) };
    const page = bad.length > 0 ? await list<Device>("/devices", query, this.ended) : { items: [] };
    let rises: Rise[] = [];
    if (!this.counts || looks(this.counts) !== looks(counts)) this.begin(counts, page.items);
    else {
      const before = page.next ? [] : this.troubled();
      rises = this.take(page.items);
      const still = new Set(page.items.map((d) => d.device));
      await this.askSingly(before.filter((id) => !still.has(id)));
    }
    this.counts = counts;
    this.tell(rises);
  }

  /** Begins with what is not normal: the rest takes longer. */
  private begin(counts: StateCounts, bad: Device[]): void {
    const { fleet } = this.of;
    [fleet.partial, this.first] = [true, true];
    this.startOver();
    fleet.load(snapshotOf(counts, bad));
    for (const d of bad) fleet.learn(d, 0);
  }

  private troubled(): string[] {
    const { fleet } = this.of;
    return fleet.trouble.slice(0, perPage).map((cell) => fleet.ids[cell]);
  }

  private take(devices: Device[]): Rise[] {
    for (const d of devices) this.seen.add(d.device);
    return devices.flatMap((d) => this.of.fleet.apply(d) ?? []).filter((r) => r.state.severity > 0);
  }

  /** Asks what devices show that are normal again, or gone. */
  private async askSingly(ids: string[]): Promise<void> {
    for (const id of ids.slice(0, mostSingly)) {
      try {
        const path = `/devices/${encodeURIComponent(id)}`;
        this.take([await request<Device>("GET", path, { signal: this.ended })]);
      } catch (error) {
        if (!(error instanceof Problem) || error.status !== 404) throw error;
        this.of.fleet.remove(id);
      }
    }
  }

  /** Asks for the next pages of all devices: the first time for all of them. */
  private async walk(): Promise<void> {
    const pages = Math.ceil((this.counts?.total ?? 0) / perPage / stepsOfRound);
    const wanted = (n: number) => this.first || n < Math.max(1, pages);
    for (let n = 0; !this.ended.aborted && this.counts && wanted(n); n++) {
      const mark = this.of.fleet.marks();
      const query = { limit: String(perPage), cursor: this.cursor };
      const page = await list<Device>("/devices", query, this.ended);
      if (!this.counts) return this.startOver();
      this.cursor = page.next;
      if (this.first) this.collect(page.items);
      else this.refresh(page.items, mark);
      if (!page.next) return;
    }
  }

  private collect(devices: Device[]): void {
    this.all.push(...devices);
    collected.value = this.all.length;
    if (this.cursor || !this.counts) return;
    const { fleet } = this.of;
    fleet.load(snapshotOf(this.counts, this.all));
    for (const d of this.all) fleet.learn(d, 0);
    [fleet.partial, this.first, this.all, this.seen] = [false, false, [], new Set()];
    this.tell([]);
  }

  private refresh(devices: Device[], mark: (id: string) => number): void {
    const { fleet } = this.of;
    const cellOf = (id: string) => fleet.find(id) ?? -1;
    // What was asked about one device meanwhile is newer.
    const rises = this.take(devices.filter((d) => fleet.mark(cellOf(d.device)) === mark(d.device)));
    for (const d of devices) this.seen.add(d.device);
    if (!this.cursor) {
      for (const id of fleet.ids.filter((id) => cellOf(id) >= 0 && !this.seen.has(id))) fleet.remove(id);
      this.seen.clear();
    }
    this.tell(rises);
  }
}

/** The states that counts are of, as text to compare. */
function looks(counts: StateCounts): string {
  return JSON.stringify(counts.items.map((s) => [s.state, s.severity, s.letter, s.colour, s.symbol]));
}
