import { Fragment } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { incidentPath } from "../model/address";
import { active, focusAfter, isWaiting, lasts, marks, meaning, moved, newest, signsOf, statuses, waiting, type Incident, type Status } from "../model/incidents";
import { duration } from "../model/time";
import { tenant } from "../net/api";
import { keepsIncidents } from "../net/session";
import { now } from "../state/clock";
import { changes, counts } from "../state/incidents";
import { startFleet } from "../state/live";
import { link, place, query, setQuery } from "../state/route";
import { DeedButtons, useDeedKeys, useDeeds, type Start } from "./incidentacts";
import { useViewKeys } from "./keys";
import { More, usePages } from "./pages";
import { Age, Blank, countText, incidentLook, Notice, OperatorLink, Sign, stateColours, When } from "./parts";
import { AcknowledgeReturned } from "./returned";
import { say } from "./toast";

/** Another person's action is seen within a second, and a storm does not ask all the time. */
export const incidentsEvery = 300;

/** The pages about incidents: nothing of them is there where the server keeps none. */
export function IncidentPage(props: { view: string; title: string; children: preact.ComponentChildren }) {
  useEffect(startFleet, [tenant.value]);
  return (
    <main id="main" class={`page ${props.view}`} data-view={props.view}>
      <div class="head-of-page">
        <h1 tabIndex={-1}>{props.title}</h1>
        {keepsIncidents.value && <Pages />}
      </div>
      {keepsIncidents.value ? (
        props.children
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
  ["/on-call", "On call"],
  ["/maintenance", "Maintenance"],
  ["/reports", "Reports"],
  ["/rules", "Rules"],
];

/** What is open: severest first, then longest. */
export function Incidents() {
  return (
    <IncidentPage view="incidents" title="Incidents">
      <Statuses />
      <List status={query.value.status ?? active.join(",")} />
    </IncidentPage>
  );
}

/** How many of the first page are shown at once: there the devices and the map have a place too. */
const first = () => (matchMedia("(max-width: 40rem)").matches ? 3 : 5);

/** The severest of what is open, first on the first page; nothing where nothing is open. */
export function FirstIncidents() {
  const most = useMemo(first, []);
  if (!keepsIncidents.value || !counts.value) return null;
  const open = active.reduce((n, s) => n + (counts.value?.statuses[s] ?? 0), 0);
  if (open === 0) return null;
  const n = waiting(counts.value);
  const { returned = 0, latched = 0 } = counts.value.statuses;
  return (
    <section class="first-incidents" aria-labelledby="first-incidents">
      <h2 id="first-incidents">
        Incidents <span class="total">{countText(open)}</span>
        <span class={`waits ${n > 0 ? "some" : ""}`}>
          {n > 0 ? `${countText(n)} to be acknowledged` : "all acknowledged"}
        </span>
        {returned > 0 && (
          <a class="quiet" href={link("/incidents", { status: "returned" })}>
            {marks.returned} {countText(returned)} returned before anybody saw them
          </a>
        )}
        {latched > 0 && (
          <a class="quiet" href={link("/incidents", { status: "latched" })}>
            {marks.latched} {countText(latched)} latched, to be reset
          </a>
        )}
        <a class="all" href={link("/incidents")}>{open > most ? `All ${countText(open)}` : "All of them"}</a>
      </h2>
      <List status={active.join(",")} most={most} />
    </section>
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
      data-mark={status && marks[status]}
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
      {chosen === "returned" && <AcknowledgeReturned />}
    </div>
  );
}

function List({ status, most }: { status: string; most?: number }) {
  const asked = useMemo(() => ({ status, limit: String(most ?? 100) }), [status, most]);
  const found = usePages<Incident>("/incidents", asked, incidentsEvery, changes);
  const items = found.items.slice(0, most);
  const { start, dialog } = useDeeds();
  const ref = useRef<HTMLOListElement>(null);
  useKeptFocus(ref, items);
  const keys = useMemo(
    () => [
      { key: "j", does: most ? "Next incident, then next device" : "Next incident", run: () => move(ref.current, +1) },
      { key: "k", does: "Previous one", run: () => move(ref.current, -1) },
    ],
    [most],
  );
  useViewKeys(keys, true);
  useDeedKeys(() => {
    const device = below()?.dataset.device;
    if (device) return items.find((i) => i.device === device) ?? void say(`The incident of ${device} is on the page of all`);
    const id = focused(ref.current);
    if (id === undefined) focusRow(ref.current, items[0]?.id); // it is seen first, and done with the next key
    return items.find((i) => i.id === id);
  }, start);
  return (
    <>
      {found.problem && <Notice kind="error">{found.problem}</Notice>}
      {items.length === 0 && !found.problem && (
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
        {items.map((i) => (
          <Row key={i.id} of={i} start={start} />
        ))}
      </ol>
      {!most && <More pages={found} />}
      {dialog}
    </>
  );
}

function Row({ of: i, start }: { of: Incident; start: Start }) {
  const def = incidentLook(i);
  const { text, by, at } = newest(i);
  return (
    <li
      data-incident={i.id}
      data-device={i.device}
      data-state={i.state}
      data-status={i.status}
      class={isWaiting(i) ? "waits" : ""}
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
          <dd>
            <StatusOf of={i} />
            <Signs of={i} />
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
      <DeedButtons of={i} short="list" start={start} />
    </li>
  );
}

/** What an incident needs of people: a mark, a word, and who has seen it. */
export function StatusOf({ of: i }: { of: Incident }) {
  return (
    <span class="status" data-testid="status" data-mark={marks[i.status]} title={meaning[i.status]}>
      {i.status}
      {i.acknowledged && (
        <>
          {" "}
          by <bdi>{i.acknowledged.by}</bdi>
        </>
      )}
    </span>
  );
}

/** What an incident is next to its status, each with a mark and a word. */
export function Signs({ of }: { of: Incident }) {
  return (
    <>
      {signsOf(of).map(({ mark, word, means }) => (
        <Fragment key={word}>
          {" "}
          <span class="tag is" data-mark={mark} title={means}>
            {word}
          </span>
        </Fragment>
      ))}
    </>
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

/** The row of the list of devices, below on the first page, that has the focus. */
const below = () => document.activeElement?.closest<HTMLElement>(".trouble [data-row]");

/** Moves the focus by rows; false: the list of devices below is to do it. */
function move(rows: Rows, by: number): boolean {
  const [ids, device] = [idsOf(rows), below()];
  if (device && by > 0) return false;
  if (device) {
    if (device.dataset.row !== "0" || ids.length === 0) return false;
    focusRow(rows, ids.at(-1));
    return true;
  }
  const id = focused(rows);
  const end = ids.length === 0 || (by > 0 && id === ids.at(-1));
  if (end && document.querySelector(".trouble [data-row]")) return false;
  focusRow(rows, moved(ids, id, by));
  return true;
}

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
