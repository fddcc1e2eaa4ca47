import { unknownState, type StateDef } from "./states";
import { Trouble } from "./trouble";

/** GET /fleet. */
export interface Snapshot {
  position: string;
  states: StateDef[];
  devices: [string, number, number][]; // id, index into states, since in seconds
  silent: number[];
}

/** The newest record of an escalation: when it was escalated, by whom, and why. */
export interface Escalation {
  at: string;
  by?: string;
  note?: string;
}

/** A device as GET /devices/{device} and the stream give it. */
export interface Device {
  device: string;
  state?: string;
  severity: number;
  since?: string;
  time?: string;
  received?: string;
  operator?: string;
  escalated_to?: string;
  escalation?: Escalation; // with escalated_to
  incident_since?: string;
  silent: boolean;
  maintenance?: { name: string; until?: string }; // the window that it is in now
  message?: string;
  attributes?: Record<string, unknown>;
  retired?: string;
}

/** The orders that GET /devices has next to that by id: "severity", and "since". */
export function inOrder(sort: string): (a: Device, b: Device) => number {
  const worse = (a: Device, b: Device) => (sort === "severity" ? b.severity - a.severity : 0);
  return (a, b) => worse(a, b) || seconds(a.since) - seconds(b.since);
}

/** What is known of a device beyond its cell. */
export interface Detail {
  operator: string;
  escalatedTo: string;
  escalation?: Escalation;
  message: string;
  maintenance?: Device["maintenance"];
  /** The round in which it was learnt. */
  round?: number;
  /** When its newest entry was, in milliseconds: later than now where the device's clock is ahead. */
  time: number;
  /**
   * When a silent device was last heard; undefined where it has fallen silent and has not been asked
   * for. Of the others it is not known: repeats are no changes.
   */
  heard?: string;
}

/** A device whose state became worse. */
export interface Rise {
  cell: number;
  device: string;
  state: StateDef;
}

const gone = 0xffff;

/**
 * What all devices show, in typed arrays, so that 100,000 of them cost little. A device is a cell: a
 * number that stays the same until the next load. A device that is gone leaves its cell empty.
 */
export class Fleet {
  states: StateDef[] = [];
  ids: string[] = [];
  state = new Uint16Array(0);
  since = new Float64Array(0); // seconds
  silent = new Uint8Array(0);
  counts: number[] = []; // by state
  silentCounts: number[] = [];
  details = new Map<number, Detail>();
  /** True where the cells are only the devices that are not normal: the server has no feed. */
  partial = false;
  /** Grows where something else than entries may have changed what is known of devices. */
  round = 0;
  /** Grows with each load: cells have other numbers then. */
  generation = 0;
  trouble = new Trouble(this);

  private index = new Map<string, number>();
  private stateIndex = new Map<string, number>();
  private touched: number[] = [];
  private isTouched = new Uint8Array(0);
  /** How often the stream has spoken of a device: an answer that was asked for before is stale. */
  private spoken = new Uint32Array(0);

  /** Takes a snapshot instead of all that was there, and returns what is worse than it was. */
  load(snapshot: Snapshot): Rise[] {
    const before = this.generation > 0 ? this.severities() : undefined;
    this.reset(snapshot.states, snapshot.devices.length);
    const silent = new Set(snapshot.silent);
    for (const i of naturalOrder(snapshot.devices.map((row) => row[0]))) {
      const row = snapshot.devices[i];
      const cell = this.add(row[0]);
      this.put(cell, row[1], row[2]);
      if (silent.has(i)) this.setSilent(cell, true);
    }
    this.trouble.sort();
    this.touched = [];
    this.isTouched.fill(0);
    return before ? this.risen(before) : [];
  }

  /** Takes a change from the stream, and returns the device if it is worse than it was. */
  apply(d: Device): Rise | undefined {
    const name = d.state ?? "";
    let cell = this.index.get(d.device);
    const before = cell === undefined ? 0 : this.severity(cell);
    if (cell === undefined) cell = this.add(d.device);
    this.spoken[cell]++;
    this.trouble.remove(cell);
    this.put(cell, this.stateOf(name, d.severity), seconds(d.since));
    this.setSilent(cell, d.silent);
    this.trouble.insert(cell);
    if (this.severity(cell) > 0) this.details.set(cell, { ...detailOf(d), round: this.round });
    else this.details.delete(cell);
    if (this.severity(cell) <= before) return undefined;
    return { cell, device: d.device, state: this.states[this.state[cell]] };
  }

  /** Takes away a device that shows nothing any more. */
  remove(id: string): void {
    const cell = this.index.get(id);
    if (cell === undefined) return;
    this.trouble.remove(cell);
    this.setSilent(cell, false);
    this.count(cell, -1);
    this.state[cell] = gone;
    this.index.delete(id);
    this.details.delete(cell);
    this.touch(cell);
  }

  /** Says which devices are silent; all others are not. */
  setAllSilent(ids: Iterable<string>): void {
    const cells = new Set<number>();
    for (const id of ids) {
      const cell = this.index.get(id);
      if (cell !== undefined) cells.add(cell);
    }
    for (let cell = 0; cell < this.ids.length; cell++) {
      if (this.shows(cell)) this.setSilent(cell, cells.has(cell));
    }
  }

  /** A device has fallen silent, or is heard again. */
  turn(id: string, silent: boolean): void {
    const cell = this.index.get(id);
    if (cell === undefined || (this.silent[cell] === 1) === silent) return;
    this.setSilent(cell, silent);
    const detail = this.details.get(cell);
    if (detail) this.details.set(cell, { ...detail, heard: silent ? undefined : "" });
  }

  /** Takes counts that the server made: where not all devices are known they are what is shown. */
  setCounts(counts: StateCounts): void {
    for (const { state, severity, count, silent } of counts.items) {
      const at = this.stateOf(state, severity);
      this.counts[at] = count;
      this.silentCounts[at] = silent;
    }
  }

  /** Takes an answer about a device, unless the stream has spoken of it since `mark`. */
  learn(d: Device, mark: number, round = this.round): void {
    const cell = this.index.get(d.device);
    if (cell === undefined || this.mark(cell) !== mark || this.severity(cell) === 0) return;
    this.details.set(cell, { ...detailOf(d), round });
  }

  /** The marks of all devices, for answers about many. */
  marks(): (id: string) => number {
    const then = this.spoken.slice();
    return (id) => then[this.index.get(id) ?? -1] ?? 0;
  }

  /** What `learn` needs to know whether an answer is stale. */
  mark(cell: number): number {
    return this.spoken[cell] ?? 0;
  }

  find(id: string): number | undefined {
    return this.index.get(id);
  }

  shows(cell: number): boolean {
    return cell < this.ids.length && this.state[cell] !== gone;
  }

  severity(cell: number): number {
    return this.shows(cell) ? this.states[this.state[cell]].severity : 0;
  }

  get size(): number {
    return this.index.size;
  }

  get silentTotal(): number {
    return this.silentCounts.reduce((sum, n) => sum + n, 0);
  }

  /** The cells that look different since this was last asked. */
  takeTouched(): number[] {
    const cells = this.touched;
    for (const cell of cells) this.isTouched[cell] = 0;
    this.touched = [];
    return cells;
  }

  private severities(): Map<string, number> {
    const known = new Map<string, number>();
    for (const [id, cell] of this.index) known.set(id, this.severity(cell));
    return known;
  }

  private risen(before: Map<string, number>): Rise[] {
    const worse: Rise[] = [];
    for (const cell of this.trouble.slice(0, this.trouble.size)) {
      const was = before.get(this.ids[cell]);
      if (was !== undefined && this.severity(cell) > was) {
        worse.push({ cell, device: this.ids[cell], state: this.states[this.state[cell]] });
      }
    }
    return worse;
  }

  private reset(states: StateDef[], size: number): void {
    this.generation++;
    this.states = states.slice();
    this.stateIndex = new Map(states.map((s, i) => [s.name, i]));
    this.counts = states.map(() => 0);
    this.silentCounts = states.map(() => 0);
    this.ids = [];
    this.index = new Map();
    this.details = new Map();
    this.trouble = new Trouble(this);
    this.touched = [];
    this.grow(Math.max(size, 16), true);
  }

  private grow(size: number, empty = false): void {
    const copy = <T extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(to: T, from: T): T => {
      if (!empty) to.set(from);
      return to;
    };
    this.state = copy(new Uint16Array(size), this.state);
    this.since = copy(new Float64Array(size), this.since);
    this.silent = copy(new Uint8Array(size), this.silent);
    this.spoken = copy(new Uint32Array(size), this.spoken);
    this.isTouched = copy(new Uint8Array(size), this.isTouched);
  }

  private add(id: string): number {
    const cell = this.ids.length;
    if (cell === this.state.length) this.grow(cell * 2);
    this.ids.push(id);
    this.index.set(id, cell);
    this.state[cell] = gone;
    return cell;
  }

  private put(cell: number, state: number, since: number): void {
    const silent = this.silent[cell] === 1;
    if (silent) this.setSilent(cell, false);
    this.count(cell, -1);
    this.state[cell] = state;
    this.since[cell] = since;
    this.count(cell, +1);
    if (silent) this.setSilent(cell, true);
    if (this.severity(cell) > 0 && this.loading) this.trouble.append(cell);
    this.touch(cell);
  }

  /** While a snapshot is loaded, trouble is collected and sorted once, at the end. */
  private get loading(): boolean {
    return !this.trouble.sorted;
  }

  private count(cell: number, by: number): void {
    if (this.state[cell] !== gone) this.counts[this.state[cell]] += by;
  }

  private setSilent(cell: number, silent: boolean): void {
    if ((this.silent[cell] === 1) === silent) return;
    this.silent[cell] = silent ? 1 : 0;
    if (this.state[cell] !== gone) this.silentCounts[this.state[cell]] += silent ? 1 : -1;
    this.touch(cell);
  }

  private touch(cell: number): void {
    if (this.isTouched[cell] === 1) return;
    this.isTouched[cell] = 1;
    this.touched.push(cell);
  }

  private stateOf(name: string, severity: number): number {
    let at = this.stateIndex.get(name);
    if (at === undefined) {
      at = this.states.length;
      this.states.push(unknownState(name, severity));
      this.counts.push(0);
      this.silentCounts.push(0);
      this.stateIndex.set(name, at);
    }
    return at;
  }
}

export function detailOf(d: Device): Detail {
  return {
    operator: d.operator ?? "",
    escalatedTo: d.escalated_to ?? "",
    escalation: d.escalated_to ? d.escalation : undefined,
    message: d.message ?? "",
    maintenance: d.maintenance,
    time: Date.parse(d.time ?? ""),
    heard: d.silent ? (d.received ?? "") : "",
  };
}

export function seconds(time: string | undefined): number {
  return time ? Date.parse(time) / 1000 : 0;
}

const digits = /\d+$/;

/**
 * The places of ids in an order that has press-2 before press-10, so that neighbours on the floor
 * are neighbours on the map: by what stands before the last number, then by that number.
 */
export function naturalOrder(ids: string[]): number[] {
  const keys = ids.map((id) => {
    const number = digits.exec(id)?.[0] ?? "";
    return { before: id.slice(0, id.length - number.length), number: number === "" ? -1 : Number(number) };
  });
  const compare = (a: number, b: number) => {
    const [x, y] = [keys[a], keys[b]];
    if (x.before !== y.before) return x.before < y.before ? -1 : 1;
    return x.number - y.number || (ids[a] < ids[b] ? -1 : 1);
  };
  return ids.map((_, i) => i).sort(compare);
}

/** GET /states. */
export interface StateCounts {
  items: {
    state: string;
    severity: number;
    letter: string;
    colour: string;
    symbol: string;
    count: number;
    silent: number;
  }[];
  total: number;
  silent: number;
}

/** What a server without a feed tells, as a snapshot: of the devices only some. */
export function snapshotOf(counts: StateCounts, devices: Device[]): Snapshot {
  const states = counts.items.map(({ state, severity, letter, colour, symbol }) => (
    { name: state, severity, letter, colour, symbol }
  ));
  const index = new Map(states.map((s, i) => [s.name, i]));
  const known = devices.filter((d) => index.has(d.state ?? ""));
  return {
    position: "",
    states,
    devices: known.map((d) => [d.device, index.get(d.state!)!, Date.parse(d.since!) / 1000]),
    silent: known.flatMap((d, i) => (d.silent ? [i] : [])),
  };
}
