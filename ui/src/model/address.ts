/** What an address shows. */
export type Place =
  | { view: "fleet" | "groups" | "search" | "wall" | "incidents" | "on-call" | "maintenance" | "reports" | "rules" }
  | { view: "incident"; incident: string }
  | { view: "device"; device: string }
  | { view: "operator"; operator: string }
  | { view: "supervisor"; supervisor: string }
  | { view: "unknown"; path: string };

const plain = ["groups", "search", "wall", "incidents", "on-call", "maintenance", "reports", "rules"] as const;
type Plain = (typeof plain)[number];

/** Reads the path of an address. */
export function placeOf(path: string): Place {
  const parts = path.split("/").slice(1);
  if (path === "/" || path === "") return { view: "fleet" };
  if (plain.includes(path.slice(1) as Plain)) return { view: path.slice(1) as Plain };
  const id = parts.length === 2 ? decoded(parts[1]) : undefined;
  if (id) {
    if (parts[0] === "incidents") return { view: "incident", incident: id };
    if (parts[0] === "devices") return { view: "device", device: id };
    if (parts[0] === "operators") return { view: "operator", operator: id };
    if (parts[0] === "supervisors") return { view: "supervisor", supervisor: id };
  }
  return { view: "unknown", path };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part) || undefined;
  } catch {
    return undefined;
  }
}

/** The query of an address; names without a value are left out. */
export type Query = Record<string, string | undefined>;

export function queryText(query: Query): string {
  const pairs = Object.entries(query).filter(([, v]) => v !== undefined && v !== "");
  const text = new URLSearchParams(pairs as [string, string][]).toString();
  return text === "" ? "" : "?" + text;
}

export function queryOf(search: string): Query {
  return Object.fromEntries(new URLSearchParams(search));
}

/** An address of the board. The tenant goes along, so that a shared address shows the same. */
export function addressOf(path: string, query: Query = {}, tenant?: string): string {
  return path + queryText({ tenant: tenant && tenant !== "default" ? tenant : undefined, ...query });
}

const segment = (id: string) => encodeURIComponent(id);

export const incidentPath = (id: string) => `/incidents/${segment(id)}`;
export const devicePath = (id: string) => `/devices/${segment(id)}`;
export const operatorPath = (id: string) => `/operators/${segment(id)}`;
export const supervisorPath = (id: string) => `/supervisors/${segment(id)}`;

/** The query of the list that an address of the search names. */
export function devicesQuery(q: Query): Query {
  return {
    search: q.search?.trim(),
    operator: q.operator?.trim(),
    escalated_to: q.escalated_to?.trim(),
    state: q.state,
    silent: q.silent,
    sort: q.sort ?? "severity",
  };
}
