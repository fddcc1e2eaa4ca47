import { useEffect, useMemo, useState } from "preact/hooks";
import { devicePath, operatorPath, type Query } from "../model/address";
import { binsOf, percent, type Report, type Times } from "../model/report";
import { daySpan, duration, toDateInput } from "../model/time";
import { queryOfDates } from "../model/window";
import { fetched, isAborted, reason, request, tenant } from "../net/api";
import { now } from "../state/clock";
import { link, query, setQuery } from "../state/route";
import { offer } from "./download";
import { IncidentPage } from "./incidents";
import { countText, Notice, Panel, When } from "./parts";
import { say } from "./toast";

type Charts = typeof import("./charts");

/** The figures of the incidents of a span, by ISA-18.2. */
export function Reports() {
  return (
    <IncidentPage view="reports" title="Reports">
      <Figures />
    </IncidentPage>
  );
}

const day = 86_400_000;

/** The span that the address names: whole days of the viewer's zone, the last seven unless it does. */
function asked({ from, to, group }: Query): Query {
  const today = toDateInput(new Date(now.peek()));
  const last = daySpan(to ?? "") ?? daySpan(today)!;
  const first = daySpan(from ?? "") ?? daySpan(toDateInput(new Date(last[0].getTime() - 6 * day + day / 4)))!;
  return {
    from: first[0].toISOString(),
    to: new Date(last[1].getTime() - 1).toISOString(),
    group: group?.trim() || undefined,
  };
}

const perOf = (q: Query) => (q.per === "device" ? "device" : "operator");

interface Read {
  hours?: Report;
  rows?: Report;
  problem: string;
}

function useReport(span: Query, per: string): Read {
  const [state, setState] = useState<Read>({ problem: "" });
  useEffect(() => {
    const ended = new AbortController();
    const ask = (per: string) =>
      request<Report>("GET", "/reports/incidents", { query: { ...span, per }, signal: ended.signal });
    Promise.all([ask("hour"), ask(per)]).then(
      ([hours, rows]) => setState({ hours, rows, problem: "" }),
      (error) => {
        if (!isAborted(error)) setState({ problem: reason(error) });
      },
    );
    return () => ended.abort();
  }, [tenant.value, span, per]);
  return state;
}

function Figures() {
  const { from, to, group } = query.value;
  const per = perOf(query.value);
  const span = useMemo(() => asked({ from, to, group }), [from, to, group]);
  const { hours, rows, problem } = useReport(span, per);
  return (
    <>
      <Span span={span} />
      {problem && <Notice kind="error">{problem}</Notice>}
      {!hours && !problem && <Notice kind="loading">Loading…</Notice>}
      {hours && (
        <>
          <Totals of={hours} />
          <Plots of={hours} />
          <Floods of={hours} />
        </>
      )}
      {rows && <Rows of={rows} per={per} span={span} />}
    </>
  );
}

function Span({ span }: { span: Query }) {
  const date = (text: string | undefined) => toDateInput(new Date(text!));
  const seen = { from: date(span.from), to: date(span.to) };
  const field = (name: "from" | "to", text: string) => (
    <label>
      {text}
      <input
        type="date"
        value={seen[name]}
        onChange={(e) => setQuery(queryOfDates(seen, { [name]: e.currentTarget.value }))}
      />
    </label>
  );
  return (
    <div class="search-form">
      {field("from", "From")}
      {field("to", "To")}
      <label class="grow">
        Group
        <input
          value={query.value.group ?? ""}
          autocomplete="off"
          onChange={(e) => setQuery({ group: e.currentTarget.value })}
        />
      </label>
    </div>
  );
}

function Totals({ of: r }: { of: Report }) {
  const seconds = (s: number | undefined) => (s === undefined ? "–" : duration(s));
  const times = (id: string, name: string, t: Times | undefined): [string, string, string][] => [
    [id, `${name}, median`, seconds(t?.median)],
    [`${id}-90`, `${name}, nine of ten`, seconds(t?.p90)],
  ];
  const figures: [string, string, string][] = [
    ["incidents", "Incidents", countText(r.incidents)],
    ["per-hour", "Per hour", r.per_hour.toFixed(2)],
    ...times("to-acknowledge", "To acknowledge", r.to_acknowledge),
    ...times("to-return", "To return", r.to_return),
    ["availability", "Availability", r.availability === undefined ? "–" : percent(r.availability)],
    ["mtbf", "Between incidents (MTBF)", seconds(r.mtbf)],
    ["mttr", "To repair (MTTR)", seconds(r.mttr)],
    ["floods", "Floods", countText(r.floods.length)],
    ["stale", "Longer than a day", countText(r.stale.length)],
  ];
  return (
    <Panel title="Figures" aside={<span class="quiet">{countText(r.devices)} devices</span>}>
      <dl class="figures">
        {figures.map(([id, name, text]) => (
          <div key={id} class="fact">
            <dt>{name}</dt>
            <dd data-testid={id}>{text}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

/** Bars over time; their code is loaded with that of the charts. */
function Plots({ of: r }: { of: Report }) {
  const [charts, setCharts] = useState<Charts>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    import("./charts").then(setCharts, () =>
      setProblem("The plots could not be loaded: the server is gone, or has another version by now."),
    );
  }, []);
  const bins = useMemo(() => binsOf(r.rows ?? [], Date.parse(r.from), Date.parse(r.to)), [r]);
  return (
    <Panel title={`By ${bins.step}`}>
      {problem && <Notice kind="error">{problem}</Notice>}
      {charts && (
        <div class="charts">
          <charts.Bars title="Incidents" bins={bins} values={bins.incidents} />
          <charts.Bars title="Hours not normal, of all devices" bins={bins} values={bins.hours} />
        </div>
      )}
    </Panel>
  );
}

/** What makes work of little use: floods, and devices that chatter. */
function Floods({ of: r }: { of: Report }) {
  if (r.floods.length === 0 && r.chattering.length === 0) return null;
  return (
    <Panel title="Floods and chattering">
      <ul class="said">
        {r.floods.map((f) => (
          <li key={f.from}>
            {countText(f.incidents)} incidents from <When at={f.from} /> to <When at={f.to} />
          </li>
        ))}
        {r.chattering.map((d) => (
          <li key={d}>
            <a href={link(devicePath(d))}>
              <bdi>{d}</bdi>
            </a>{" "}
            chatters: three or more in a minute
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Rows({ of, per, span }: { of: Report; per: "operator" | "device"; span: Query }) {
  const rows = [...(of.rows ?? [])].sort((a, b) => b.incidents - a.incidents || b.seconds - a.seconds);
  const path = per === "device" ? devicePath : operatorPath;
  return (
    <Panel
      title={`By ${per}`}
      aside={
        <div class="filters">
          <label>
            Per
            <select value={per} onChange={(e) => setQuery({ per: e.currentTarget.value })}>
              <option value="operator">operator</option>
              <option value="device">device</option>
            </select>
          </label>
          <button type="button" onClick={() => void save({ ...span, per })}>
            CSV
          </button>
        </div>
      }
    >
      {rows.length === 0 ? (
        <Notice kind="empty">There was no incident.</Notice>
      ) : (
        <table aria-label={`By ${per}`}>
          <thead>
            <tr>
              <th>{per === "device" ? "Device" : "Operator"}</th>
              <th>Incidents</th>
              <th>Not normal</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, mostRows).map((r) => (
              <tr key={r.name} data-row={r.name}>
                <td>
                  {r.name ? (
                    <a href={link(path(r.name))}>
                      <bdi>{r.name}</bdi>
                    </a>
                  ) : (
                    <span class="none">nobody</span>
                  )}
                </td>
                <td>{countText(r.incidents)}</td>
                <td>{duration(r.seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows.length > mostRows && <p class="note quiet">The first {mostRows} of {countText(rows.length)}: CSV has all.</p>}
    </Panel>
  );
}

const mostRows = 100;

async function save(query: Query): Promise<void> {
  try {
    const answer = await fetched("GET", "/reports/incidents", { query, header: { Accept: "text/csv" } });
    offer(await answer.text(), `incidents-by-${query.per}.csv`, "text/csv");
  } catch (error) {
    say(`Nothing is saved: ${reason(error)}`);
  }
}
