const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

const two = (n: number) => String(n).padStart(2, "0");

/** How long something lasts: two units, the smaller one counting, so that it is seen to run. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < minute) return `${s} s`;
  if (s < hour) return `${Math.floor(s / minute)} m ${two(s % minute)} s`;
  if (s < day) return `${Math.floor(s / hour)} h ${two(Math.floor((s % hour) / minute))} m`;
  return `${Math.floor(s / day)} d ${Math.floor((s % day) / hour)} h`;
}

/** A time is ahead of the clock where it is later than clocks that are set right differ. */
const aheadFrom = 10_000; // milliseconds

export const isAhead = (time: number, now: number): boolean => time - now > aheadFrom;

/** A duration as ISO 8601 has it, for <time datetime>. */
export function isoDuration(seconds: number): string {
  return `PT${Math.max(0, Math.floor(seconds))}S`;
}

const units: Record<string, number> = {
  us: 1e-6, ms: 1e-3, s: 1, m: minute, h: hour, d: day, w: 7 * day,
};

/** The seconds of a duration as the API writes it ("15m", "1h30m", "30d"); NaN where it is none. */
export function parseDuration(text: string): number {
  const parts = text.match(/(\d+(?:\.\d+)?)(us|ms|[smhdw])/g);
  if (!parts || parts.join("") !== text) return Number.NaN;
  return parts.reduce((sum, part) => {
    const [, n, unit] = /^([\d.]+)(\D+)$/.exec(part)!;
    return sum + Number(n) * units[unit];
  }, 0);
}

/** The viewer's zone, as it is named next to times. */
export function zoneName(at: Date = new Date(), zone?: string): string {
  const short = zoneShort(at, zone);
  const name = zoneId(zone);
  return short && short !== name ? `${name} (${short})` : name;
}

/** The zone for the head of a column, whose times may be of summer and of winter: Europe/Berlin. */
export function zoneId(zone?: string): string {
  return zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The zone at a time in few letters, as the viewer's language has them: CEST. */
function zoneShort(at: Date, zone?: string): string {
  const parts = format("zone", zone, { timeZoneName: "short" }, []).formatToParts(at);
  return parts.find((p) => p.type === "timeZoneName")?.value ?? "";
}

// Making a format takes 50 µs, so each is made once.
const formats = new Map<string, Intl.DateTimeFormat>();

function format(
  name: string,
  zone: string | undefined,
  options: Intl.DateTimeFormatOptions,
  locale: string | [] = "en-GB",
) {
  const key = `${name} ${zone ?? ""}`;
  let made = formats.get(key);
  if (!made) {
    made = new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
    formats.set(key, made);
  }
  return made;
}

const clockParts = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

/** The time of day: 14:05:09. */
export function clockTime(at: Date, zone?: string): string {
  return format("clock", zone, clockParts).format(at);
}

/** A day: Fri 24 Apr 2020. */
export function dayName(at: Date, zone?: string): string {
  return format("day", zone, { weekday: "short", day: "2-digit", month: "short", year: "numeric" })
    .format(at)
    .replace(",", "");
}

/** By how many minutes clocks go back: an hour, but half of it on Lord Howe Island, and two at Troll. */
const goBack = [30, 60, 120];

/** Whether clocks show a time twice, since they go back in that night. */
function isTwice(at: Date, zone?: string): boolean {
  const shown = clockTime(at, zone);
  const same = (minutes: number) => clockTime(new Date(at.getTime() + minutes * 60_000), zone) === shown;
  return goBack.some((m) => same(m) || same(-m));
}

/**
 * A moment, with the day where it is not today's, and the zone where it was not as now or where the
 * time alone could be another: 24 Apr 14:05:09, or in winter 24 Apr 14:05:09 CEST.
 */
export function moment(at: Date, now: Date, zone?: string): string {
  const short = zoneShort(at, zone);
  const asNow = short === zoneShort(now, zone) && !isTwice(at, zone);
  const time = asNow ? clockTime(at, zone) : `${clockTime(at, zone)} ${short}`;
  if (dayName(at, zone) === dayName(now, zone)) return time;
  const year = at.getFullYear() === now.getFullYear() ? undefined : ("numeric" as const);
  const date = format(`date${year ?? ""}`, zone, { day: "2-digit", month: "short", year });
  return `${date.format(at)} ${time}`;
}

/** A moment as <input type="datetime-local"> holds it, in the viewer's zone. */
export function toLocalInput(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** A day as <input type="date"> holds it, in the viewer's zone. */
export function toDateInput(at: Date): string {
  return toLocalInput(at).slice(0, 10);
}

/** The first instant of a day of the viewer's zone ("2020-04-24"), and the first of the next day. */
export function daySpan(text: string): [Date, Date] | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!parts) return undefined;
  const [y, m, d] = parts.slice(1).map(Number);
  const [from, to] = [new Date(y, m - 1, d), new Date(y, m - 1, d + 1)];
  return from.getMonth() === m - 1 ? [from, to] : undefined;
}
