/** Who is on call by a schedule, as the server answers. */
export interface Shift {
  from: string;
  to?: string;
  person?: string;
  layer?: number;
  gap?: boolean;
  reason?: string;
}

/** Puts a person on call for a time, whatever the layers of a schedule say. */
export interface Override {
  from: string;
  to: string;
  person: string;
  reason?: string;
}

/** A window in which incidents of some devices are suppressed. */
export interface Maintenance {
  name: string;
  devices?: string[];
  prefix?: string;
  group?: string;
  start: string;
  length: string;
  rrule?: string;
  zone?: string;
  note?: string;
  by?: string;
}

/** Which devices a window or a rule is about, in words; without any selection all of them. */
export function devicesOf(m: Pick<Maintenance, "devices" | "prefix" | "group">): string {
  const parts: string[] = [];
  const named = m.devices ?? [];
  if (named.length > 3) parts.push(`${named.slice(0, 3).join(", ")} and ${named.length - 3} more`);
  else if (named.length > 0) parts.push(named.join(", "));
  if (m.prefix) parts.push(`${m.prefix}…`);
  if (m.group) parts.push(`group ${m.group}`);
  return parts.join("; ") || "all devices";
}

const often: Record<string, [string, string]> = {
  DAILY: ["daily", "days"],
  WEEKLY: ["weekly", "weeks"],
  MONTHLY: ["monthly", "months"],
  YEARLY: ["yearly", "years"],
};

const days: Record<string, string> = {
  MO: "Mon", TU: "Tue", WE: "Wed", TH: "Thu", FR: "Fri", SA: "Sat", SU: "Sun",
};

/** A rule of RFC 5545 in words, as far as they are plain; else as it is. */
export function repeats(rule: string | undefined): string {
  if (!rule) return "once";
  const parts = new Map(rule.toUpperCase().split(";").map((p) => p.split("=", 2) as [string, string]));
  const of = often[parts.get("FREQ") ?? ""];
  const on = parts.get("BYDAY")?.split(",").map((d) => days[d]);
  const plain = [...parts.keys()].every((k) => ["FREQ", "INTERVAL", "BYDAY"].includes(k));
  if (!of || !plain || on?.includes(undefined as never)) return rule;
  const n = Number(parts.get("INTERVAL") ?? 1);
  const text = n === 1 ? of[0] : `every ${n} ${of[1]}`;
  return on ? `${text} on ${on.join(", ")}` : text;
}
