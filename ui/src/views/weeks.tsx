import type { CSSProperties } from "preact";
import { spanText, within, type Bar } from "../model/agenda";
import { readable } from "../model/states";
import { dayName } from "../model/time";
import { now } from "../state/clock";

const percent = (part: number) => `${(part * 100).toFixed(3)}%`;

/** Bars over the days of a calendar; `label` says the same in words. */
export function Weeks({ days, bars, label }: { days: number[]; bars: Bar[]; label: string }) {
  const [from, to] = [days[0], days[days.length - 1]];
  const at = (bar: { from: number; to: number }): CSSProperties | undefined => {
    const part = within(bar, from, to);
    return part && { left: percent(part[0]), width: percent(part[1]) };
  };
  return (
    <div class="weeks" role="img" aria-label={label}>
      {days.slice(0, -1).map((d, i) => (
        <i key={d} class={dayClass(d)} style={at({ from: d, to: days[i + 1] })} />
      ))}
      {bars.map((b) => {
        const place = at(b);
        const look = b.colour ? readable(b.colour) : undefined;
        return (
          place && (
            <span
              key={`${b.from} ${b.text}`}
              class={`bar ${b.kind ?? ""}`}
              style={{ ...place, ...(look && { background: look.ground, color: look.ink }) }}
              title={`${b.text}: ${spanText(b)}`}
            >
              {b.text}
            </span>
          )
        );
      })}
      <b class="line" style={at({ from: now.peek(), to: to })} />
    </div>
  );
}

const dayClass = (day: number) => {
  const of = new Date(day).getDay();
  return `${of === 0 || of === 6 ? "off" : ""} ${of === 1 ? "monday" : ""}`;
};

/** The dates of a calendar's Mondays, above its bars. */
export function WeeksHead({ days }: { days: number[] }) {
  const [from, to] = [days[0], days[days.length - 1]];
  return (
    <div class="weeks-head" aria-hidden="true">
      {days.slice(0, -1).map((d, i) => {
        if (i > 0 && (new Date(d).getDay() !== 1 || i < 3)) return null;
        const name = i === 0 ? "today" : dayName(new Date(d)).slice(4, -5);
        return (
          <span key={d} style={{ left: percent((d - from) / (to - from)) }}>
            {name}
          </span>
        );
      })}
    </div>
  );
}
