import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { operatorPath, supervisorPath, type Query } from "../model/address";
import type { Device } from "../model/fleet";
import { dayName, daySpan, toDateInput, zoneShort } from "../model/time";
import { isAborted, list, reason, tenant } from "../net/api";
import { now } from "../state/clock";
import type { Entry } from "../state/device";
import { link as liveLink, startFleet, stateByName, version } from "../state/live";
import { query, setQuery } from "../state/route";
import { DeviceTable } from "./devicetable";
import { Download, entryColumns } from "./download";
import { defOf, DeviceLink, Notice, OperatorLink, Panel, StateName, SupervisorLink, When } from "./parts";

/** An operator: what is theirs now, and what they had between two dates. */
export function OperatorView({ name }: { name: string }) {
  return (
    <Person view="operator" title="Operator" name={name} now={{ operator: name }}>
      <Entries
        path={`${operatorPath(name)}/events`}
        filters={<DateFilter />}
        span={spanOfDates}
        who="supervisor"
        title="What they had"
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
        who="operator"
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

const refreshEvery = 5000;
/** In a storm the list is not asked for with every change. */
const refreshAtMostEvery = 3000;

/** The devices that somebody has now: asked again with what the stream says, and now and then. */
function MineNow({ filter }: { filter: Query }) {
  const [found, setFound] = useState<{ devices: Device[]; more: boolean }>();
  const [problem, setProblem] = useState("");
  const [shown, setShown] = useState(12); // the rest would hide the entries below
  const asked = useRef(0);
  const read = async () => {
    asked.current = Date.now();
    try {
      const page = await list<Device>("/devices", { ...filter, sort: "severity", limit: "500" });
      setFound({ devices: page.items, more: page.next !== undefined });
      setProblem("");
    } catch (error) {
      setProblem(reason(error));
    }
  };
  const changed = version.value;
  useEffect(() => {
    const wait = Math.max(0, refreshAtMostEvery - (Date.now() - asked.current));
    const timer = setTimeout(() => void read(), wait);
    return () => clearTimeout(timer);
  }, [Math.floor(changed / 4), liveLink.value.phase]);
  useEffect(() => {
    void read();
    const timer = setInterval(() => document.hidden || void read(), refreshEvery);
    return () => clearInterval(timer);
  }, []);
  return (
    <Panel title="Mine now" aside={<span class="total">{found ? found.devices.length + (found.more ? "+" : "") : ""}</span>}>
      {problem && <Notice kind="error">{problem}</Notice>}
      {!found ? (
        !problem && <Notice kind="loading">Loading…</Notice>
      ) : found.devices.length === 0 ? (
        <Notice kind="empty">Nothing now.</Notice>
      ) : (
        <>
          <DeviceTable label="Mine now" devices={found.devices.slice(0, shown)} />
          {found.devices.length > shown && (
            <button type="button" class="more" onClick={() => setShown(500)}>
              All {found.devices.length}
            </button>
          )}
        </>
      )}
    </Panel>
  );
}

interface EntriesProps {
  path: string;
  title: string;
  filters: ComponentChildren;
  span(q: Query, now: Date): Query;
  who: "operator" | "supervisor"; // the other person of each entry
}

/** The entries of a person, by day, a page at a time. */
function Entries({ path, title, filters, span, who }: EntriesProps) {
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
      {pages.items.length > 0 && <EntryTable entries={pages.items} who={who} />}
      {pages.items.length === 0 && !pages.problem && (
        <Notice kind={pages.busy ? "loading" : "empty"}>{pages.busy ? "Loading…" : "No entries then."}</Notice>
      )}
      {pages.more && (
        <button type="button" class="more" disabled={pages.busy} onClick={pages.next}>
          More
        </button>
      )}
    </Panel>
  );
}

/** The pages of a list that were read so far, for a query. */
export function usePages<T>(path: string, asked: Query) {
  const [state, setState] = useState<{ items: T[]; next?: string; busy: boolean; problem: string }>({
    items: [], busy: true, problem: "",
  });
  const abort = useRef<AbortController | undefined>(undefined);
  const read = async (before: T[], cursor: string | undefined) => {
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    setState({ items: before, next: cursor, busy: true, problem: "" });
    try {
      const page = await list<T>(path, { ...asked, cursor }, mine.signal);
      setState({ items: [...before, ...page.items], next: page.next, busy: false, problem: "" });
    } catch (error) {
      if (!isAborted(error)) setState({ items: before, next: cursor, busy: false, problem: reason(error) });
    }
  };
  useEffect(() => {
    void read([], undefined);
    return () => abort.current?.abort();
  }, [path, asked]);
  return { ...state, more: state.next !== undefined, next: () => void read(state.items, state.next) };
}

function EntryTable({ entries, who }: { entries: Entry[]; who: "operator" | "supervisor" }) {
  let day = "";
  return (
    <table aria-label="Entries" class="wide">
      <thead>
        <tr>
          <th>Time, {zoneShort()}</th>
          <th>State</th>
          <th>Device</th>
          <th>{who === "operator" ? "Operator" : "Escalated to"}</th>
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
                  <th colSpan={5} scope="rowgroup">
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
                <td>{who === "operator" ? <OperatorLink name={e.operator} /> : <SupervisorLink name={e.escalated_to} />}</td>
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
  const behind = daySpan(to ?? "")?.[1];
  return { from: first.toISOString(), to: behind && new Date(behind.getTime() - 1).toISOString() };
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
  return (
    <>
      <label>
        From
        <input type="date" value={first} max={to} onChange={(e) => setQuery({ from: e.currentTarget.value })} />
      </label>
      <label>
        To
        <input type="date" value={to ?? ""} min={first} onChange={(e) => setQuery({ to: e.currentTarget.value })} />
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
