import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { incidentPath } from "../model/address";
import { active, focusAfter, lasts, meaning, moved, newest, statuses, type Incident, type Status } from "../model/incidents";
import { duration } from "../model/time";
import { tenant } from "../net/api";
import { now } from "../state/clock";
import { changes, counts, keepsIncidents } from "../state/incidents";
import { startFleet } from "../state/live";
import { link, place, query, setQuery } from "../state/route";
import { DeedButtons, useDeedKeys, useDeeds } from "./incidentacts";
import { useViewKeys } from "./keys";
import { More, usePages } from "./pages";
import { Age, Blank, countText, defOf, Notice, OperatorLink, Sign, stateColours, When } from "./parts";

/** Another person's action is seen within a second, and a storm does not ask all the time. */
export const incidentsEvery = 300;

/** The pages about incidents: nothing of them is there where the server keeps none. */
export function IncidentPage(props: { view: string; title: string; children: preact.ComponentChildren }) {
  useEffect(startFleet, [tenant.value]);
  return (
    <main id="main" class={`page ${props.view}`} data-view={props.view}>
      <h1 tabIndex={-1}>
        <bdi>{props.title}</bdi>
      </h1>
      {keepsIncidents.value ? (
        <>
          <Pages />
          {props.children}
        </>
      ) : keepsIncidents.value === false ? (
        <Blank title="This server keeps no incidents">
          <p>The setting incidents turns them on.</p>
        </Blank>
      ) : (
        <Notice kind="loading">Loading…</Notice>
      )}
    </main>
  );
}

function Pages() {
  const at = place.value.view;
  return (
    <nav class="sub" aria-label="Pages about incidents">
      {pages.map(([path, text]) => (
        <a key={path} href={link(path)} aria-current={path === `/${at}` ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

const pages = [
  ["/incidents", "List"],
  ["/on-call", "On call and maintenance"],
  ["/reports", "Reports"],
];

/** What is open: severest first, then longest. */
export function Incidents() {
  return (
    <IncidentPage view="incidents" title="Incidents">
      <Statuses />
      <List />
    </IncidentPage>
  );
}

/** How many there are by status, each a filter of the list. */
function Statuses() {
  const chosen = query.value.status as Status | undefined;
  const of = counts.value?.statuses ?? {};
  const shown = statuses.filter((s) => of[s] || s === chosen);
  const sum = active.reduce((n, s) => n + (of[s] ?? 0), 0);
  const button = (status: Status | undefined, text: string, n: number) => (
    <button
      key={text}
      type="button"
      aria-pressed={chosen === status}
      title={status && meaning[status]}
      data-status={status ?? "active"}
      data-count={n}
      onClick={() => setQuery({ status })}
    >
      {text} <b>{countText(n)}</b>
    </button>
  );
  return (
    <div class="statuses" role="group" aria-label="Incidents by status">
      {button(undefined, "active", sum)}
      {shown.map((s) => button(s, s, of[s] ?? 0))}
    </div>
  );
}

function List() {
  const status = query.value.status ?? active.join(",");
  const asked = useMemo(() => ({ status, limit: "100" }), [status]);
  const found = usePages<Incident>("/incidents", asked, incidentsEvery, changes);
  const { start, dialog } = useDeeds();
  const ref = useRef<HTMLOListElement>(null);
  useKeptFocus(ref, found.items);
  const keys = useMemo(
    () => [
      { key: "j", does: "Next incident", run: () => move(ref.current, +1) },
      { key: "k", does: "Previous one", run: () => move(ref.current, -1) },
    ],
    [],
  );
  useViewKeys(keys);
  useDeedKeys(() => {
    const id = focused(ref.current);
    if (id === undefined) move(ref.current, 0); // it is seen first, and done with the next key
    return found.items.find((i) => i.id === id);
  }, start);
  return (
    <>
      {found.problem && <Notice kind="error">{found.problem}</Notice>}
      {found.items.length === 0 && !found.problem && (
        <Notice kind={found.busy ? "loading" : "empty"}>{found.busy ? "Loading…" : "No such incident is open."}</Notice>
      )}
      <ol
        ref={ref}
        class="incident-rows"
        aria-label="Incidents"
        onKeyDown={(e) => {
          const by = { ArrowDown: +1, ArrowUp: -1 }[e.key];
          if (!by) return;
          e.preventDefault();
          move(ref.current, by);
        }}
      >
        {found.items.map((i) => (
          <Row key={i.id} of={i} start={start} />
        ))}
      </ol>
      <More pages={found} />
      {dialog}
    </>
  );
}

function Row({ of: i, start }: { of: Incident; start: Parameters<typeof DeedButtons>[0]["start"] }) {
  const def = defOf(i.state, i.severity);
  const { text, by, at } = newest(i);
  return (
    <li
      data-incident={i.id}
      data-device={i.device}
      data-state={i.state}
      data-status={i.status}
      style={stateColours(def)}
    >
      <div class="head">
        <Sign def={def} />
        <span class="sr">{def.name}</span>
        <a class="id" href={link(incidentPath(i.id))}>
          <bdi>{i.device}</bdi>
        </a>
        <Lasts of={i} />
      </div>
      <div class="told">
        {text && (
          <p class="message" dir="auto">
            {by ? <q>{text}</q> : text}
          </p>
        )}
        {by && (
          <p class="quiet">
            <bdi>{by}</bdi>, <When at={at} />
          </p>
        )}
      </div>
      <dl class="of">
        <div>
          <dt>Status</dt>
          <dd data-testid="status" title={meaning[i.status]}>
            {i.status}
            {i.acknowledged && (
              <>
                {" "}
                by <bdi>{i.acknowledged.by}</bdi>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Operator</dt>
          <dd data-testid="operator">
            <OperatorLink name={i.operator} />
          </dd>
        </div>
        {i.kind !== "state" && (
          <div>
            <dt>Kind</dt>
            <dd>{i.covers ? `${i.kind}, with ${countText(i.covers)} devices` : i.kind}</dd>
          </div>
        )}
      </dl>
      <DeedButtons of={i} short start={start} />
    </li>
  );
}

/** How long an incident lasts; it ticks until the device is normal again. */
export function Lasts({ of }: { of: Incident }) {
  if (!of.until) return <Age since={Date.parse(of.since)} />;
  return (
    <span class="age" data-testid="age">
      {duration(lasts(of, now.peek()) / 1000)}
    </span>
  );
}

type Rows = HTMLElement | null;

const idsOf = (rows: Rows) =>
  [...(rows?.querySelectorAll<HTMLElement>("[data-incident]") ?? [])].map((r) => r.dataset.incident!);

const focused = (rows: Rows): string | undefined =>
  rows?.querySelector<HTMLElement>("[data-incident]:focus-within")?.dataset.incident;

function focusRow(rows: Rows, id: string | undefined): void {
  const row = id && rows?.querySelector<HTMLElement>(`[data-incident="${CSS.escape(id)}"]`);
  if (!row) return;
  row.querySelector<HTMLElement>("a.id")?.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

const move = (rows: Rows, by: number) => focusRow(rows, moved(idsOf(rows), focused(rows), by));

/** Keeps the focus at its incident while rows come, go and change places. */
function useKeptFocus(ref: { current: Rows }, items: Incident[]): void {
  const had = useRef<{ ids: string[]; id?: string }>({ ids: [] });
  useEffect(() => {
    const note = () => {
      const id = focused(ref.current);
      // Where a row goes away the browser tells no other place: the focus is at nothing then.
      if (id !== undefined || document.activeElement !== document.body) had.current.id = id;
    };
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, []);
  useLayoutEffect(() => {
    const ids = items.map((i) => i.id);
    const { ids: before, id } = had.current;
    if (id !== undefined && document.activeElement === document.body) {
      focusRow(ref.current, focusAfter(before, ids, id));
    }
    had.current.ids = ids;
  }, [items]);
}
