import { useEffect, useState } from "preact/hooks";
import { devicesOf, repeats, whenOf, type Maintenance, type Shift } from "../model/duty";
import { duration, parseDuration, toLocalInput } from "../model/time";
import { all, isAborted, reason, request, tenant } from "../net/api";
import { now } from "../state/clock";
import { query, setQuery } from "../state/route";
import { IncidentPage } from "./incidents";
import { Notice, Panel, When } from "./parts";

/** Who is on call, and when devices are in maintenance. */
export function OnCall() {
  return (
    <IncidentPage view="on-call" title="On call">
      <Schedules />
      <Windows />
    </IncidentPage>
  );
}

interface Found<T> {
  items?: T[];
  problem: string;
}

/** How often these pages ask again: people change their schedules rarely. */
const askedEvery = 30_000;
/** How many schedules and windows are shown. */
const most = 200;

/** What is found now, and again after a while. */
function useAgain<T>(find: (signal: AbortSignal) => Promise<T[]>, of: unknown[]): Found<T> {
  const [state, setState] = useState<Found<T>>({ problem: "" });
  useEffect(() => {
    const ended = new AbortController();
    const read = () =>
      find(ended.signal).then(
        (items) => setState({ items, problem: "" }),
        (error) => {
          if (!isAborted(error)) setState((s) => ({ ...s, problem: reason(error) }));
        },
      );
    void read();
    const timer = setInterval(() => !document.hidden && void read(), askedEvery);
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  }, [tenant.value, ...of]);
  return state;
}

interface OnDuty {
  name: string;
  zone?: string;
  is: Shift;
  then?: Shift;
}

/** Who is on call by each schedule at a time, and who is next. */
async function onDuty(at: string | undefined, signal: AbortSignal): Promise<OnDuty[]> {
  const { items } = await all<{ name: string; zone?: string }>("/schedules", {}, most, signal);
  const shift = (name: string, at: string | undefined) =>
    request<Shift>("GET", `/schedules/${encodeURIComponent(name)}/on-call`, { query: { at }, signal });
  return Promise.all(
    items.map(async ({ name, zone }) => {
      const is = await shift(name, at);
      return { name, zone, is, then: is.to ? await shift(name, is.to) : undefined };
    }),
  );
}

function Schedules() {
  const at = isoOf(query.value.at);
  const { items, problem } = useAgain((signal) => onDuty(at, signal), [at]);
  return (
    <Panel
      title={at ? "On call then" : "On call now"}
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
      <State of={{ items, problem }} none="There is no schedule yet: andon apply -f FILE makes one." />
      {items && items.length > 0 && (
        <table aria-label="On call" class="wide">
          <thead>
            <tr>
              <th>Schedule</th>
              <th>On call</th>
              <th>Until</th>
              <th>Then</th>
            </tr>
          </thead>
          <tbody>
            {items.map(({ name, is, then }) => (
              <tr key={name} data-schedule={name}>
                <td>
                  <bdi>{name}</bdi>
                </td>
                <td data-testid="on-call">
                  <Person of={is} />
                </td>
                <td class="when">{is.to ? <When at={is.to} /> : "for a year at least"}</td>
                <td data-testid="then">
                  {then && (
                    <>
                      <span class="sr">then </span>
                      <Person of={then} />
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

/** The time of an input or an address; none where it is not one. */
function isoOf(text: string | undefined): string | undefined {
  const at = new Date(text ?? "");
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

function Person({ of }: { of: Shift }) {
  return (
    <>
      {of.person ? (
        <b>
          <bdi>{of.person}</bdi>
        </b>
      ) : (
        <span class="problem">nobody</span>
      )}
      {of.reason && (
        <span class="quiet">
          {" "}
          instead: <q dir="auto">{of.reason}</q>
        </span>
      )}
      {of.gap && of.person && <span class="quiet"> as second, the first layer has nobody</span>}
    </>
  );
}

function State<T>({ of, none }: { of: Found<T>; none: string }) {
  if (of.problem) return <Notice kind="error">{of.problem}</Notice>;
  if (!of.items) return <Notice kind="loading">Loading…</Notice>;
  return of.items.length === 0 ? <Notice kind="empty">{none}</Notice> : null;
}

function Windows() {
  const find = async (signal: AbortSignal) => (await all<Maintenance>("/maintenance", {}, most, signal)).items;
  const { items, problem } = useAgain(find, []);
  return (
    <Panel title="Maintenance windows">
      <State of={{ items, problem }} none="There is no window of maintenance." />
      {items && items.length > 0 && (
        <table aria-label="Maintenance windows" class="wide">
          <thead>
            <tr>
              <th>Window</th>
              <th>Devices</th>
              <th>Starts</th>
              <th>Lasts</th>
              <th>Repeats</th>
              <th>Note</th>
            </tr>
          </thead>
          <tbody>
            {items.map((m) => (
              <Window key={m.name} of={m} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Window({ of: m }: { of: Maintenance }) {
  const seconds = parseDuration(m.length);
  const when = whenOf(m, seconds, now.value);
  return (
    <tr data-window={m.name} data-when={when}>
      <td>
        <b>
          <bdi>{m.name}</bdi>
        </b>{" "}
        {(when === "now" || when === "over") && <span class="tag">{when}</span>}
      </td>
      <td>
        <bdi>{devicesOf(m)}</bdi>
      </td>
      <td class="when">
        <When at={m.start} />
      </td>
      <td>{Number.isNaN(seconds) ? m.length : duration(seconds)}</td>
      <td>
        {repeats(m.rrule)}
        {m.rrule && m.zone && <span class="quiet">, {m.zone}</span>}
      </td>
      <td class="text" dir="auto">
        {m.note}
        {m.by && <span class="quiet"> by {m.by}</span>}
      </td>
    </tr>
  );
}
