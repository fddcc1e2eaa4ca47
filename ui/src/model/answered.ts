import type { Window } from "./strip";

/** GET /devices/{device}/assignments: who was assigned, and until when. */
export interface Assignment {
  operator: string | null;
  from: string;
  to?: string;
}

/** GET /devices/{device}/escalations: an entry, with the records of all that was done with it. */
export interface Escalated {
  time: string;
  state: string;
  escalations: { to: string | null; at: string; by?: string; note?: string }[];
}

/** What a person did, or was given to do: one row of who answered for a device. */
export interface Answer {
  at: string;
  does: "assigned" | "escalated" | "escalation withdrawn";
  who: string | null; // of an assignment null is nobody
  until?: string; // of an assignment that has ended
  by?: string;
  note?: string;
  of?: { time: string; state: string }; // the entry that was escalated
}

/**
 * Assignments and escalations in one order of time, the newest first. An assignment that was made
 * before the window and held in it belongs to it; of escalations those that were made in it.
 */
export function answersOf(assignments: Assignment[], escalated: Escalated[], w: Window): Answer[] {
  const answers: Answer[] = assignments.map((a) => ({
    at: a.from, does: "assigned", who: a.operator,
    until: a.to,
  }));
  for (const { time, state, escalations } of escalated) {
    for (const { to, at, by, note } of escalations) {
      const when = Date.parse(at);
      if (when < w.from || when > w.to) continue;
      const does = to === null ? "escalation withdrawn" : "escalated";
      answers.push({ at, does, who: to, by, note, of: { time, state } });
    }
  }
  return answers.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}
