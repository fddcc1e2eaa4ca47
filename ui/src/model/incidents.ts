import { unknownState, type StateDef } from "./states";

/** What somebody, or Andon itself, did about an incident. */
export interface Step {
  at: string;
  what: string;
  event_time?: string;
  by?: string;
  to?: string;
  note?: string;
}

export type Status =
  | "unacknowledged"
  | "acknowledged"
  | "returned"
  | "latched"
  | "shelved"
  | "suppressed"
  | "out-of-service"
  | "closed";

/** An incident, as far as the board shows it. */
export interface Incident {
  id: string;
  device: string;
  kind: string;
  status: Status;
  state?: string;
  severity: number;
  worst: number;
  since: string;
  until?: string;
  opened: string;
  ended?: string;
  count: number;
  operator?: string;
  message?: string;
  late?: boolean;
  flapping?: boolean; // it changes its state too often
  latched?: boolean; // it stays until its reset
  joined?: string[];
  covers?: number;
  acknowledged?: { by: string; at: string; expires?: string; note?: string };
  taken_by?: string;
  shelved?: { by: string; until?: string; once?: boolean; reason: string };
  out_of_service?: { by: string; reason?: string };
  maintenance?: string;
  escalation?: { policy: string; step: number; next_at?: string };
  note?: Step;
  steps?: Step[];
}

export interface Counts {
  total: number;
  statuses: Partial<Record<Status, number>>;
  severities: { severity: number; count: number; unacknowledged: number }[];
}

/** The statuses of open incidents, in the order in which they are shown. */
export const statuses: Status[] = [
  "unacknowledged", "returned", "acknowledged", "latched", "shelved", "suppressed", "out-of-service",
];

/** What is on the list unless a status is chosen: what is wrong now. */
export const active: Status[] = ["unacknowledged", "acknowledged"];

/** What a status means to somebody who has not read ISA-18.2. */
export const meaning: Record<Status, string> = {
  unacknowledged: "nobody has said yet that it is seen",
  returned: "normal again before anybody had seen it",
  acknowledged: "somebody has seen it",
  latched: "normal again, and to be reset by a person",
  shelved: "hidden for a while, for a reason",
  suppressed: "its device is in maintenance",
  "out-of-service": "taken out of service by a person",
  closed: "nothing is left to do",
};

/** The mark of a status, so that it is not told by a colour alone. */
export const marks: Record<Status, string> = {
  unacknowledged: "!",
  returned: "↩",
  acknowledged: "✓",
  latched: "■",
  shelved: "‖",
  suppressed: "▧",
  "out-of-service": "⊘",
  closed: "○",
};

/** What an incident is next to its status: the mark, the word, and what it means. */
export function signsOf(i: Incident): { mark: string; word: string; means: string }[] {
  const signs = [];
  if (i.flapping) {
    signs.push({ mark: "⇅", word: "flapping", means: "its device changes its state too often: nobody is told meanwhile" });
  }
  if (i.latched && i.status !== "latched") {
    signs.push({ mark: marks.latched, word: "to be reset", means: "it stays until a person resets it, once it is normal again" });
  }
  return signs;
}

export const isWaiting = (i: Incident): boolean => i.status === "unacknowledged";

/**
 * How an incident looks: as its state does, of a given severity; one that is of no state has the
 * colour of the states that are as severe, and a mark of its own.
 */
export function lookOf(i: Incident, states: StateDef[], severity = i.severity): StateDef {
  const as = states.filter((s) => s.severity === severity);
  if (i.kind === "state") {
    return as.find((s) => s.name === i.state) ?? as[0] ?? unknownState(i.state ?? "", severity);
  }
  const milder = states.filter((s) => s.severity <= severity).sort((a, b) => b.severity - a.severity);
  const [symbol, letter] = i.kind === "silent" ? ["▨", "–"] : ["◇", "R"];
  return { name: i.kind, severity, symbol, letter, colour: (milder[0] ?? unknownState("")).colour };
}

/** How many of the counted incidents are wrong now, and nobody has said that it is seen. */
export const waiting = (c: Counts): number => c.statuses.unacknowledged ?? 0;

/** How many failures are told one by one. */
const mostTold = 10;

/** What became of several that were to be acknowledged at once, of which some were not. */
export function failuresText(done: number, failed: { of: Incident; why: string }[]): string {
  const told = failed.slice(0, mostTold).map((f) => `${f.of.device}: ${f.why}`);
  const more = failed.length - told.length;
  return [
    `${done} are acknowledged, and ${failed.length} are not:`, ...told, ...(more > 0 ? [`and ${more} more`] : []),
  ].join("\n");
}

export type Act =
  | "acknowledge"
  | "take"
  | "comment"
  | "escalate"
  | "shelve"
  | "unshelve"
  | "out-of-service"
  | "in-service"
  | "reset";

/** What can be done about an incident by somebody of a name, the most usual first. */
export function actsOn(i: Incident, me: string): Act[] {
  if (i.status === "closed") return [];
  const acts: Act[] = [];
  if (i.latched && i.until) acts.push("reset");
  if (!i.acknowledged) acts.push("acknowledge");
  if (!i.taken_by || i.taken_by !== me) acts.push("take");
  acts.push("escalate", i.shelved ? "unshelve" : "shelve", "comment");
  acts.push(i.out_of_service ? "in-service" : "out-of-service");
  return acts;
}

/** What is told of an incident in one line: the newest that a person wrote, or the device said. */
export function newest(i: Incident): { text: string; by?: string; at?: string } {
  if (i.note?.note) return { text: i.note.note, by: i.note.by, at: i.note.at };
  return { text: i.message ?? "" };
}

/** What a step says in words. */
export function stepText(s: Step): string {
  return s.to ? `${s.what} to ${s.to}` : s.what;
}

/** The last millisecond at which an incident grows older: it stops with its end. */
export function lasts(i: Incident, now: number): number {
  return (i.until ? Date.parse(i.until) : now) - Date.parse(i.since);
}

/**
 * Which row has the focus after a list has changed: the same one, or, where it is gone, the one that
 * is in its place.
 */
export function focusAfter(before: string[], after: string[], id: string): string | undefined {
  if (after.includes(id)) return id;
  return after[Math.min(before.indexOf(id), after.length - 1)];
}

/** The id of the incident by which its moves by rows; without one, of the first. */
export function moved(ids: string[], from: string | undefined, by: number): string | undefined {
  const at = from === undefined ? -1 : ids.indexOf(from);
  return at < 0 ? ids[0] : ids[Math.max(0, Math.min(ids.length - 1, at + by))];
}
