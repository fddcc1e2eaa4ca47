import { signal } from "@preact/signals";
import { queryText, type Query } from "../model/address";
import { inOrder, type Device } from "../model/fleet";

/**
 * Why a request failed: RFC 9457, or status 0 where Andon has not answered. The page of a proxy
 * says nothing about what was asked for, whatever its status is.
 */
export class Problem extends Error {
  constructor(
    readonly status: number,
    title: string,
    readonly fields: { location: string; message: string }[] = [],
    readonly retryAfter = 0, // seconds
  ) {
    super(title);
  }
}

/**
 * Whether the server has refused what was asked for, as with a tenant that is deleted: another
 * attempt fixes it only once somebody has changed something, and what was there is no longer so.
 */
export function isRefused(error: unknown): boolean {
  return error instanceof Problem && [400, 401, 403, 404].includes(error.status);
}

/** Whether what was asked for is not there any more, or not for this person. */
export function isGone(error: unknown): boolean {
  return error instanceof Problem && [403, 404].includes(error.status);
}

/** The tenant that all requests are for. */
export const tenant = signal("default");

/** True once a request was refused for lack of a token: the board asks for it then. */
export const signInNeeded = signal(false);

/** How far the server's clock is ahead of ours, in milliseconds, where that is worth a word. */
export const clockAhead = signal(0);

export interface Asked {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  /** A 401 is the answer, and not a reason to ask for a token. */
  quiet?: boolean;
  header?: Record<string, string>;
}

export const base = "/api/v1";

/** Sends a request and returns the JSON of the answer; a Problem is thrown otherwise. */
export async function request<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const response = await fetched(method, path, asked);
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch (error) {
    throw isAborted(error) ? error : new Problem(0, "The answer ended early");
  }
}

/**
 * Changes a document, or a part of it that has a path of its own: what is there is read, and put back
 * where nobody else has changed it meanwhile.
 */
export async function change<T>(path: string, changed: (is: T) => Partial<T>, part = ""): Promise<void> {
  const answer = await fetched("GET", path);
  const body = changed((await answer.json()) as T);
  await request("PUT", path + part, { body, header: { "If-Match": answer.headers.get("ETag") ?? "" } });
}

/** Sends a request and returns the answer once its header is there. */
export async function fetched(
  method: string,
  path: string,
  asked: Asked = {},
): Promise<Response> {
  const header: Record<string, string> = { Accept: "application/json", ...asked.header };
  if (tenant.value !== "default") header["Andon-Tenant"] = encodedHeader(tenant.value);
  if (asked.body !== undefined) header["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(base + path + queryText(asked.query ?? {}), {
      method,
      headers: header,
      body: asked.body === undefined ? undefined : JSON.stringify(asked.body),
      signal: asked.signal,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    throw isAborted(error) ? error : new Problem(0, "The server can't be reached");
  }
  noteClock(response);
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401 && !asked.quiet) signInNeeded.value = true;
  throw problem;
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** What to show of an error that was caught. */
export function reason(error: unknown): string {
  if (error instanceof Problem && error.fields.length > 0) {
    return error.fields.map((f) => f.message).join("; ");
  }
  return error instanceof Error ? error.message : String(error);
}

async function problemOf(response: Response): Promise<Problem> {
  const retry = Number(response.headers.get("Retry-After")) || 0;
  const ours = response.headers.get("Content-Type")?.startsWith("application/problem+json");
  if (!ours) return new Problem(0, `The server answered ${response.status}`, [], retry);
  try {
    const { title, detail, errors } = await response.json();
    return new Problem(response.status, detail || title || response.statusText, errors ?? [], retry);
  } catch {
    return new Problem(response.status, `The server answered ${response.status}`, [], retry);
  }
}

/** A header is sent as Latin-1 by fetch, which refuses the rest: so UTF-8 goes byte by byte. */
function encodedHeader(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

function noteClock(response: Response): void {
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(date)) return;
  const ahead = date + 500 - Date.now(); // the header has whole seconds
  clockAhead.value = Math.abs(ahead) > 5000 ? ahead : 0;
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  next?: string;
}

/** True once the store has said that it lists devices by id only: it would have to read all others. */
export const onlyById = signal(false);

/**
 * Asks for a page of a list. Where the store has no other order of devices than by id, those of the
 * page are put into the order that was asked for.
 */
export async function list<T>(path: string, query: Query, signal?: AbortSignal): Promise<Page<T>> {
  const ask = (query: Query) => request<Page<T>>("GET", path, { query, signal });
  if (path !== "/devices" || !query.sort || query.sort === "device") return ask(query);
  if (!onlyById.peek()) {
    try {
      return await ask(query);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 501) throw error;
    }
  }
  const page = await ask({ ...query, sort: undefined });
  onlyById.value = true;
  (page.items as Device[]).sort(inOrder(query.sort));
  return page;
}

/** The server gives no longer pages. */
export const longestPage = 1000;

/** The first items of a list, up to `most`, in as many requests as that takes. */
export async function first<T>(
  path: string,
  query: Query,
  most: number,
  signal?: AbortSignal,
): Promise<Page<T>> {
  let [items, cursor]: [T[], string | undefined] = [[], undefined];
  do {
    const limit = String(Math.min(longestPage, most - items.length));
    const page: Page<T> = await list<T>(path, { ...query, limit, cursor }, signal);
    [items, cursor] = [[...items, ...page.items], page.next]; // a page of a search may end early
  } while (cursor && items.length < most);
  return { items, next: cursor };
}

/** All items of a list, up to `most`; `cut` says that there are more. */
export async function all<T>(
  path: string,
  query: Query,
  most: number,
  signal?: AbortSignal,
): Promise<{ items: T[]; cut: boolean }> {
  const { items, next } = await first<T>(path, query, most, signal);
  return { items, cut: next !== undefined };
}
