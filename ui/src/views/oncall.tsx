import { useMemo, useState } from "preact/hooks";
import { barsOf, coming, daysFrom, spanText, type Agenda, type Bar } from "../model/agenda";
import type { Override, Shift } from "../model/duty";
import { toLocalInput } from "../model/time";
import { all, change } from "../net/api";
import { now, today } from "../state/clock";
import { query, setQuery } from "../state/route";
import { Form, Person as PersonField } from "./actions";
import { agendaOf, Instead, useAgain } from "./again";
import { IncidentPage } from "./incidents";
import { countText, Panel } from "./parts";
import { Weeks, WeeksHead } from "./weeks";

/** Who is on call, now and in the coming four weeks. */
export function OnCall() {
  return (
    <IncidentPage view="on-call" title="On call">
      <Schedules />
    </IncidentPage>
  );
}

/** How many schedules are shown. */
const most = 200;

interface Schedule {
  name: string;
  zone?: string;
  overrides?: Override[];
}

/** The time of an input or an address; none where it is not one. */
function timeOf(text: string | undefined): number | undefined {
  const at = new Date(text ?? "").getTime();
  return Number.isNaN(at) ? undefined : at;
}

type Doing = { of: string; remove?: Override };

function Schedules() {
  const at = timeOf(query.value.at);
  const days = useMemo(() => daysFrom(at ?? now.peek()), [at, today.value]);
  const [doing, setDoing] = useState<Doing>();
  const found = useAgain(async (signal) => {
    const [schedules, agenda] = await Promise.all([
      all<Schedule>("/schedules", {}, most, signal),
      agendaOf(days, signal),
    ]);
    return { items: schedules.items, shifts: agenda.shifts };
  }, [days]);
  const close = () => {
    setDoing(undefined);
    found.again();
  };
  const items = found.is?.items ?? [];
  return (
    <Panel
      title={at ? "On call then, and in four weeks from then" : "On call now, and in the coming four weeks"}
      aside={
        <div class="filters">
          <label>
            At
            <input
              type="datetime-local"
              value={at ? toLocalInput(new Date(at)) : ""}
              onChange={(e) => setQuery({ at: isoOf(e.currentTarget.value) })}
            />
          </label>
        </div>
      }
    >
      <Instead of={found} none="There is no schedule yet: andon apply -f FILE makes one." />
      {items.length > 0 && (
        <div class="plan">
          <WeeksHead days={days} />
          <ol aria-label="On call">
            {items.map((s) => (
              <OneSchedule
                key={s.name}
                of={s}
                shifts={found.is!.shifts.filter((x) => x.schedule === s.name)}
                days={days}
                at={at}
                start={setDoing}
              />
            ))}
          </ol>
        </div>
      )}
      {doing && !doing.remove && <StandIn of={doing.of} onClose={close} />}
      {doing?.remove && <Remove of={doing.of} override={doing.remove} onClose={close} />}
    </Panel>
  );
}

function isoOf(text: string): string | undefined {
  const at = timeOf(text);
  return at === undefined ? undefined : new Date(at).toISOString();
}

interface ScheduleProps {
  of: Schedule;
  shifts: Agenda["shifts"];
  days: number[];
  at: number | undefined;
  start(doing: Doing): void;
}

function OneSchedule({ of: s, shifts, days, at, start }: ScheduleProps) {
  const time = at ?? now.value;
  const n = shifts.findIndex((x) => Date.parse(x.to) > time);
  // While another time is asked for, the shifts are those of the one before.
  const [is, then] = n < 0 ? [] : shifts.slice(n, n + 2);
  const bars = useMemo(() => barsOf(shifts), [shifts]);
  const gaps = coming(bars, time).filter((b) => b.kind === "gap");
  const overrides = (s.overrides ?? []).filter((o) => Date.parse(o.to) > time);
  const nextHandOver = then ? `then ${then.person ?? "nobody"} from ${spanText(bars[n + 1])}` : "no hand-over within four weeks";
  return (
    <li data-schedule={s.name}>
      <div class="what">
        <p>
          <bdi>{s.name}</bdi> {s.zone && <span class="quiet">{s.zone}</span>}
        </p>
        <p class="duty" data-testid="on-call">
          {is && <Person of={is} />}
        </p>
        <p data-testid="then">
          {then ? (
            <>
              until {spanText(bars[n]).split(" to ")[1]}, then <Person of={then} />
            </>
          ) : (
            <span class="quiet">no hand-over within four weeks</span>
          )}
        </p>
        <Gaps of={gaps} />
      </div>
      <Weeks days={days} bars={bars} label={`${s.name}: ${is?.person ?? "nobody"}, ${nextHandOver}`} />
      <Overrides of={overrides} remove={(o) => start({ of: s.name, remove: o })} />
      <button type="button" data-act="override" onClick={() => start({ of: s.name })}>
        Stand in…
      </button>
    </li>
  );
}

/** When nobody is on call. */
function Gaps({ of }: { of: Bar[] }) {
  if (of.length === 0) return null;
  return (
    <p class="problem" data-testid="gaps" data-count={of.length}>
      ⚠ Nobody: {spanText(of[0])}
      {of.length > 1 && `, and ${countText(of.length - 1)} more`}
    </p>
  );
}

function Overrides({ of, remove }: { of: Override[]; remove(o: Override): void }) {
  if (of.length === 0) return <span class="times" />;
  return (
    <ul class="times" aria-label="Overrides">
      {of.map((o) => (
        <li key={o.from + o.person} data-override={o.person}>
          <span>
            <b>
              <bdi>{o.person}</bdi>
            </b>{" "}
            stands in, {spanText({ from: Date.parse(o.from), to: Date.parse(o.to) })}{" "}
            {o.reason && <q dir="auto">{o.reason}</q>}
          </span>
          <button type="button" class="plain" aria-label={`Remove: ${o.person} stands in`} onClick={() => remove(o)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

function Person({ of }: { of: Shift }) {
  return (
    <>
      {of.person ? (
        <b>
          <bdi>{of.person}</bdi>
        </b>
      ) : (
        <b class="problem">⚠ nobody</b>
      )}
      {of.reason && (
        <span class="quiet">
          {" "}
          stands in: <q dir="auto">{of.reason}</q>
        </span>
      )}
      {of.gap && of.person && <span class="quiet"> as second, the first layer has nobody</span>}
    </>
  );
}

/** Changes the overrides of a schedule, unless somebody else has changed it meanwhile. */
function changeOverrides(name: string, changed: (all: Override[]) => Override[]): Promise<void> {
  const path = `/schedules/${encodeURIComponent(name)}`;
  return change<Schedule>(path, (s) => ({ overrides: changed(s.overrides ?? []) }), "/overrides");
}

function StandIn({ of, onClose }: { of: string; onClose(): void }) {
  const hour = 3_600_000;
  const local = (t: number) => toLocalInput(new Date(t));
  const send = async ({ person, from, to, reason }: Record<string, string>) => {
    const iso = (text: string) => new Date(text).toISOString();
    const added = { from: iso(from), to: iso(to), person, reason: reason || undefined };
    await changeOverrides(of, (all) => [...all, added]);
    return `${person} stands in on ${of}`;
  };
  return (
    <Form title={`Stand in on ${of}`} submit="Stand in" onClose={onClose} send={send}>
      <p>This person is on call instead, whatever the schedule says.</p>
      <PersonField label="Person" from="/people" />
      <div class="pair">
        <label>
          From
          <input name="from" type="datetime-local" required defaultValue={local(now.peek())} />
        </label>
        <label>
          To
          <input name="to" type="datetime-local" required defaultValue={local(now.peek() + 8 * hour)} />
        </label>
      </div>
      <label>
        Reason
        <input name="reason" autocomplete="off" dir="auto" maxLength={500} />
      </label>
    </Form>
  );
}

function Remove({ of, override: o, onClose }: { of: string; override: Override; onClose(): void }) {
  const same = (is: Override) => is.from === o.from && is.to === o.to && is.person === o.person;
  const send = async () => {
    await changeOverrides(of, (all) => all.filter((is) => !same(is)));
    return `${o.person} no longer stands in`;
  };
  return (
    <Form title={`Remove ${o.person} from ${of}`} submit="Remove" danger cautious onClose={onClose} send={send}>
      <p>Whoever the schedule says is on call again from now on.</p>
    </Form>
  );
}
