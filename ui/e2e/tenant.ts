import type { Server } from "./server.ts";

/** What a device sends. */
export interface Entry {
  device: string;
  state: string;
  time?: string;
  operator?: string;
  message?: string;
  attributes?: Record<string, unknown>;
}

/** What a device shows, as far as tests ask. */
export interface Shown {
  device: string;
  state: string;
  operator?: string;
  escalated_to?: string;
  silent?: boolean;
}

/** A tenant of a server, spoken to over HTTP as devices and scripts do. Each test has its own. */
export class Tenant {
  constructor(
    readonly server: Server,
    readonly id: string,
    private readonly token = "",
  ) {}

  /** address is that of a view of the board. */
  address(path = "/"): string {
    const url = new URL(path, this.server.url);
    if (this.id !== "default") url.searchParams.set("tenant", this.id);
    return url.href;
  }

  /** ask sends a request and returns the answer's JSON. What is refused is an error. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { "Andon-Tenant": this.id };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await fetch(`${this.server.url}/api/v1${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answers ${answer.status}: ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** make creates the tenant, or changes its settings. */
  async make(settings: Record<string, unknown> = {}): Promise<void> {
    await this.ask("PUT", `/tenants/${encodeURIComponent(this.id)}`, settings);
  }

  /** report posts entries, all of which must be taken. */
  async report(...entries: Entry[]): Promise<void> {
    const answer = await this.ask<{ accepted: number; rejected: unknown[] }>(
      "POST",
      "/events",
      entries,
    );
    if (answer.accepted !== entries.length) {
      throw new Error(
        `${answer.accepted} of ${entries.length}: ${JSON.stringify(answer.rejected)}`,
      );
    }
  }

  async device(id: string): Promise<Shown> {
    return this.ask<Shown>("GET", `/devices/${encodeURIComponent(id)}`);
  }

  /** counts returns how many devices are in each state now. */
  async counts(): Promise<Record<string, number>> {
    const { items } = await this.ask<{ items: { state: string; count: number }[] }>(
      "GET",
      "/states",
    );
    return Object.fromEntries(items.map((i) => [i.state, i.count]));
  }
}

/** ago is a time before now, as the API writes it. */
export function ago(seconds: number): string {
  return new Date(Date.now() - 1000 * seconds).toISOString();
}
