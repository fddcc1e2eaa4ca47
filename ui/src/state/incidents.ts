import { signal } from "@preact/signals";
import { incidentPath } from "../model/address";
import type { Act, Counts, Incident } from "../model/incidents";
import { isAborted, isGone, Problem, request, tenant } from "../net/api";
import { keepsIncidents, readSession } from "../net/session";

/** How many incidents of the tenant are open. */
export const counts = signal<Counts | undefined>(undefined);
/** Grows when an incident has changed: who shows any asks again. */
export const changes = signal(0);

let of = "";

/** Asks how many incidents there are, where the server keeps any. It never fails. */
export async function learnIncidents(signal?: AbortSignal): Promise<void> {
  const asked = tenant.peek();
  if (keepsIncidents.peek() === undefined) await readSession();
  if (!keepsIncidents.peek()) return;
  try {
    const found = await request<Counts>("GET", "/incidents/counts", { signal, quiet: true });
    if (asked !== tenant.peek()) return;
    of = asked;
    counts.value = found;
  } catch (error) {
    if (isAborted(error)) return;
    if (of !== asked || isGone(error)) counts.value = undefined;
    if (error instanceof Problem && error.status === 501) keepsIncidents.value = false; // no feed
  }
}

/** How often the counts are asked for where no stream of the fleet tells that they have changed. */
const countedEvery = 15_000;

/** Keeps the counts true while something shows them; returns what ends it. */
export function followCounts(): () => void {
  void learnIncidents();
  const timer = setInterval(() => !document.hidden && void learnIncidents(), countedEvery);
  return () => clearInterval(timer);
}

/** In a storm the counts are not asked for with every change. */
const atMostEvery = 500;
let due: ReturnType<typeof setTimeout> | undefined;

/** Takes note that incidents may have changed. */
export function incidentsChanged(): void {
  if (!keepsIncidents.peek()) return;
  changes.value++;
  due ??= setTimeout(() => {
    due = undefined;
    void learnIncidents();
  }, atMostEvery);
}

/** Does something about an incident; all that is shown of it follows. */
export async function act(id: string, what: Act, body: Record<string, unknown>): Promise<Incident> {
  try {
    return await request<Incident>("POST", `${incidentPath(id)}/${what}`, { body });
  } finally {
    incidentsChanged(); // also after a 409: somebody else was first
  }
}
