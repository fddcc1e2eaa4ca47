import { signal } from "@preact/signals";
import { Problem, request, signInNeeded } from "./api";

interface Session {
  required: boolean;
  signed_in: boolean;
  incidents: boolean;
}

/** Whether this server asks for a token at all; without one there is nothing to sign out of. */
export const tokenRequired = signal(false);

/** Whether the server keeps incidents; undefined: it has not said yet. */
export const keepsIncidents = signal<boolean | undefined>(undefined);

export async function readSession(): Promise<void> {
  try {
    const session = await request<Session>("GET", "/session", { quiet: true });
    tokenRequired.value = session.required;
    keepsIncidents.value = session.incidents;
    if (session.required && !session.signed_in) signInNeeded.value = true;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) signInNeeded.value = true;
  }
}

export async function signIn(token: string): Promise<void> {
  await request("POST", "/session", { body: { token }, quiet: true });
  tokenRequired.value = true;
  signInNeeded.value = false;
}

export async function signOut(): Promise<void> {
  await request("DELETE", "/session", { quiet: true });
  signInNeeded.value = true;
}
