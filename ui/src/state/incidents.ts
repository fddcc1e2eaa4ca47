import { signal } from "@preact/signals";
import { incidentPath } from "../model/address";
import type { Act, Counts, Incident } from "../model/incidents";
import { isAborted, Problem, request, tenant } from "../net/api";

/** Whether the server keeps incidents; undefined: it is not known yet. */
export const keepsIncidents = signal<boolean | undefined>(undefined);
/** How many incidents of the tenant are open. */
export const counts = signal<Counts | undefined>(undefined);
/** Grows when an incident has changed: who shows any asks again. */
export const changes = signal(0);

let of = "";

/** Asks how many incidents there are. It never fails: a server may keep none. */
export async function learnIncidents(signal?: AbortSignal): Promise<void> {
  const asked = tenant.peek();
  try {
    const found = await request<Counts>("GET", "/incidents/counts", { signal, quiet: true });
    if (asked !== tenant.peek()) return;
    of = asked;
    counts.value = found;
    keepsIncidents.value = true;
  } catch (error) {
    if (isAborted(error)) return;
    const lacks = error instanceof Problem && (error.status === 404 || error.status === 501);
    if (lacks || of !== asked) counts.value = undefined;
    if (lacks) keepsIncidents.value = false;
  }
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
