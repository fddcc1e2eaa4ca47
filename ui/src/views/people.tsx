import { useEffect, useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { operatorPath, supervisorPath, type Query } from "../model/address";
import type { Device } from "../model/fleet";
import { dayName, daySpan, toDateInput, zoneId } from "../model/time";
import { queryOfDates } from "../model/window";
import { tenant } from "../net/api";
import { now } from "../state/clock";
import type { Entry } from "../state/device";
import { startFleet, stateByName } from "../state/live";
import { query, setQuery } from "../state/route";
import { DeviceTable } from "./devicetable";
import { Download, entryColumns } from "./download";
import { More, usePages } from "./pages";
import { defOf, DeviceLink, Escalated, Notice, OperatorLink, Panel, StateName, When } from "./parts";

/** An operator: what is theirs now, and their entries between two dates. */
export function OperatorView({ name }: { name: string }) {
  return (
    <Person view="operator" title="Operator" name={name} now={{ operator: name }}>
      <Entries
        path={`${operatorPath(name)}/events`}
        filters={<DateFilter />}
        span={spanOfDates}
        title="Past entries"
      />
    </Person>
  );
}

/** A supervisor: what is escalated to them now, and what was, by state and day. */
export function SupervisorView({ name }: { name: string }) {
  return (
    <Person view="supervisor" title="Supervisor" name={name} now={{ escalated_to: name }}>
      <Entries
        path={`${supervisorPath(name)}/events`}
        filters={<DayFilter />}
        span={spanOfDay}
        title="Escalated entries"
      />
    </Person>
  );
}

interface PersonProps {
  view: string;
  title: string;
  name: string;
  now: Query;
  children: ComponentChildren;
}

function Person({ view, title, name, now: filter, children }: PersonProps) {
  useEffect(startFleet, [tenant.value]);
  return (
    <main id="main" class="page person" data-view={view}>
      <header class="who">
        <p class="role">{title}</p>
        <h1 tabIndex={-1}>
          <bdi>{name}</bdi>
        </h1>
      </header>
      <MineNow filter={filter} />
      {children}
    </main>
  );
}

/** The devices that somebody has now. */
function MineNow({ filter }: { filter: Query }) {
  const [shown, setShown] = useState(12); // the rest would hide the entries below
  const asked = useMemo(() => ({ ...filter, sort: "severity", limit: "500" }), []);
  const pages = usePages<Device>("/devices", asked);
  const { items, more, busy, problem } = pages;
  const waiting = busy && items.length === 0;
  return (
    <Panel title="Mine now" aside={<span class="total">{waiting ? "" : `${items.length}${more ? "+" : ""}`}</span>}>
      {problem && <Notice kind="error">{problem}</Notice>}
      {waiting && <Notice kind="loading">Loading…</Notice>}
      {!busy && !problem && items.length === 0 && <Notice kind="empty">No devices now.</Notice>}
      {items.length > 0 && <DeviceTable label="Mine now" devices={items.slice(0, shown)} />}
      {items.length > shown ? (
        <button type="button" class="more" onClick={() => setShown(Infinity)}>
          All {items.length}
        </button>
      ) : (
        <More pages={pages} />
      )}
    </Panel>
  );
}

interface EntriesProps {
  path: string;
  title: string;
  filters: ComponentChildren;
  span(q: Query, now: Date): Query;
}

/** The entries of a person, by day, a page at a time. */
function Entries({ path, title, filters, span }: EntriesProps) {
  const { from, to, day, state } = query.value;
  const asked = useMemo<Query>(
    () => ({ ...span({ from, to, day }, new Date(now.peek())), state, limit: "100" }),
    [from, to, day, state],
  );
  const pages = usePages<Entry>(path, asked);
  return (
    <Panel title={title} aside={
        <div class="filters">
          {filters}
          <StateFilter />
          <Download path={path} query={asked} columns={entryColumns} name="entries" />
        </div>
      }>
      {pages.problem && <Notice kind="error">{pages.problem}</Notice>}
      {pages.items.length > 0 && <EntryTable entries={pages.items} />}
      {pages.items.length === 0 && !pages.problem && (
        <Notice kind={pages.busy ? "loading" : "empty"}>{pages.busy ? "Loading…" : "No entries match."}</Notice>
      )}
      <More pages={pages} />
    </Panel>
  );
}

function EntryTable({ entries }: { entries: Entry[] }) {
  let day = "";
  return (
    <table aria-label="Entries" class="wide">
      <thead>
        <tr>
          <th>Time, {zoneId()}</th>
          <th>State</th>
          <th>Device</th>
          <th>Operator</th>
          <th>Escalated to</th>
          <th>Message</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((e) => {
          const of = dayName(new Date(e.time));
          const first = of !== day;
          day = of;
          return (
            <>
              {first && (
                <tr class="day" key={of}>
                  <th colSpan={6} scope="rowgroup">
                    {of}
                  </th>
                </tr>
              )}
              <tr key={e.device + e.time + e.state} data-device={e.device} data-state={e.state}>
                <td class="when">
                  <When at={e.time} />
                </td>
                <td>
                  <StateName def={defOf(e.state)} />
                </td>
                <td>
                  <DeviceLink id={e.device} />
                </td>
                <td>
                  <OperatorLink name={e.operator} />
                </td>
                <td data-testid="escalated">
                  <Escalated to={e.escalated_to} record={e.escalation} />
                </td>
                <td class="text" dir="auto">
                  {e.message}
                </td>
              </tr>
            </>
          );
        })}
      </tbody>
    </table>
  );
}

/** Between two dates of the viewer's zone, both whole; the last seven days unless they are named. */
function spanOfDates({ from, to }: Query, today: Date): Query {
  const first = daySpan(from ?? "")?.[0] ?? daysBefore(today, 6);
  const after = daySpan(to ?? "")?.[1];
  return { from: first.toISOString(), to: after && new Date(after.getTime() - 1).toISOString() };
}

function spanOfDay({ day }: Query): Query {
  const span = daySpan(day ?? "");
  if (!span) return {};
  return { from: span[0].toISOString(), to: new Date(span[1].getTime() - 1).toISOString() };
}

function daysBefore(at: Date, days: number): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() - days);
}

function DateFilter() {
  const { from, to } = query.value;
  const first = from ?? toDateInput(daysBefore(new Date(now.peek()), 6));
  const choose = (chosen: Query) => setQuery(queryOfDates({ from: first, to }, chosen));
  return (
    <>
      <label>
        From
        <input type="date" value={first} max={to} onChange={(e) => choose({ from: e.currentTarget.value })} />
      </label>
      <label>
        To
        <input type="date" value={to ?? ""} min={first} onChange={(e) => choose({ to: e.currentTarget.value })} />
      </label>
    </>
  );
}

function DayFilter() {
  return (
    <label>
      Day
      <input type="date" value={query.value.day ?? ""} onChange={(e) => setQuery({ day: e.currentTarget.value })} />
    </label>
  );
}

function StateFilter() {
  const chosen = query.value.state ?? "";
  const names = [...stateByName.value.keys()];
  if (chosen && !names.includes(chosen)) names.push(chosen);
  return (
    <label>
      State
      <select value={chosen} onChange={(e) => setQuery({ state: e.currentTarget.value || undefined })}>
        <option value="">all</option>
        {names.map((n) => (
          <option key={n} value={n}>
            {n}
          </option>
        ))}
      </select>
    </label>
  );
}
