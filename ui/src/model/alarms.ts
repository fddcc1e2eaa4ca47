import type { Rise } from "./fleet";

/** New trouble: a device that became worse a short while ago. */
export interface Alarm extends Rise {
  at: number; // milliseconds
}

/** For how long trouble is new. Then nothing moves any more, whatever is still wrong. */
export const newFor = 20_000;

/** How many alarms are kept; in a storm the severest are what counts. */
const most = 200;

/** The alarms after more devices became worse, the severest first. */
export function raise(alarms: Alarm[], rises: Rise[], now: number): Alarm[] {
  if (rises.length === 0) return expire(alarms, now);
  const again = new Set(rises.map((r) => r.device));
  const kept = alarms.filter((a) => !again.has(a.device) && now - a.at < newFor);
  return [...rises.map((r) => ({ ...r, at: now })), ...kept]
    .sort((a, b) => b.state.severity - a.state.severity || b.at - a.at)
    .slice(0, most);
}

/** The alarms that are still new; the same array if all of them are. */
export function expire(alarms: Alarm[], now: number): Alarm[] {
  return alarms.every((a) => now - a.at < newFor) ? alarms : alarms.filter((a) => now - a.at < newFor);
}

/** The alarms without a device that is normal again or gone. */
export function settle(alarms: Alarm[], isWell: (device: string) => boolean): Alarm[] {
  return alarms.some((a) => isWell(a.device)) ? alarms.filter((a) => !isWell(a.device)) : alarms;
}

/** What a screen reader says of new trouble. */
export function announcement(rises: Rise[]): string {
  if (rises.length === 0) return "";
  const worst = rises.reduce((a, b) => (b.state.severity > a.state.severity ? b : a));
  const others = rises.length > 1 ? `, and ${rises.length - 1} more` : "";
  return `${worst.device} is in ${worst.state.name}${others}`;
}

/** The title of the page: new trouble first, so that a narrow tab shows it. */
export function title(alarms: Alarm[], place: string, lost: boolean): string {
  const count = alarms.length >= most ? `${most}+` : String(alarms.length);
  const mark = lost ? "⚠ no connection · " : alarms.length > 0 ? `(${count}) ` : "";
  return `${mark}${place} · Andon`;
}
