import { useEffect, useMemo, useState } from "preact/hooks";
import type { Answer } from "../model/answered";
import type { Incident } from "../model/incidents";
import { windowTo } from "../model/strip";
import { duration, moment, zoneId } from "../model/time";
import { now } from "../state/clock";
import { DeviceModel, type Entry, type Past } from "../state/device";
import { pagePhase } from "../state/live";
import { queryOfWindow } from "../model/window";
import { link, query, setQuery } from "../state/route";
import { ActionDialog, type Action } from "./actions";
import { ChartsPanel } from "./chartspanel";
import { IncidentTable, OpenIncidents, useIncidentsOf } from "./deviceincidents";
import { Download, entryColumns } from "./download";
import { useViewKeys } from "./keys";
import { Age, Ahead, defOf, Escalated, EscalationText, Notice, OperatorLink, Panel, Sign, stateColours, StateName, SupervisorLink, When } from "./parts";
import { StripPanel } from "./strip";
import type { StateDef } from "../model/states";

/** A device: what it shows now, what it was, and who answered for it. */
export function Device({ id }: { id: string }) {
  const model = useMemo(() => new DeviceModel(id, () => query.peek()), [id]);
  const [action, setAction] = useState<Action>();
  useEffect(() => model.start(), [model]);
  const { from, to, range } = query.value;
  useEffect(() => void model.refresh(), [from, to, range]);
  const keys = useMemo(
    () => [
      { key: "a", does: "Assign an operator", run: () => press("assign") },
      { key: "e", does: "Escalate to a supervisor", run: () => press("escalate") },
    ],
    [],
  );
  useViewKeys(keys);
  const past = model.past.value;
  const incidents = useIncidentsOf(id);
  return (
    <main id="main" class="page device" data-view="device">
      {model.lost.value && (
        <div class="banner lost" role="alert" data-testid="lost">
          <b>Connection lost.</b> What is shown here is old. Trying again.
        </div>
      )}
      <NowPanel model={model} act={setAction} />
      <OpenIncidents of={pagePhase.value === "failed" ? [] : incidents} states={statesOf(model)} />
      {model.problem.value && !model.lost.value && <Notice kind="error">{model.problem.value}</Notice>}
      {past ? (
        <PastOf model={model} past={past} act={setAction} incidents={incidents} />
      ) : (
        !model.problem.value && <Notice kind="loading">Loading…</Notice>
      )}
      {action && <ActionDialog model={model} action={action} onClose={() => setAction(undefined)} />}
    </main>
  );
}

/** Does what a button of the page does, where it has that button. */
const press = (act: string) => document.querySelector<HTMLButtonElement>(`[data-act="${act}"]`)?.click();

const statesOf = (model: DeviceModel): StateDef[] => model.settings.value?.states ?? [];

/** The look of a state on this page, which does not need the fleet. */
export function lookOf(model: DeviceModel, name: string): StateDef {
  return statesOf(model).find((s) => s.name === name) ?? defOf(name);
}

function NowPanel({ model, act }: { model: DeviceModel; act(a: Action): void }) {
  const d = model.now.value;
  const def = d?.state ? lookOf(model, d.state) : undefined;
  const unknown = !d && model.past.value?.known === false;
  return (
    <header
      class={`now ${def && def.severity > 0 ? "bad" : ""} ${d?.silent ? "silent" : ""}`}
      style={def && stateColours(def)}
    >
      <div class="who">
        <h1 tabIndex={-1}>
          <bdi>{model.id}</bdi>
        </h1>
        {d?.message && (
          <p class="message" dir="auto">
            {d.message}
          </p>
        )}
        {model.absent.value && (
          <p class="message">
            {unknown ? "No device of this name has reported." : "It shows nothing now: it is retired, or only measures."}
          </p>
        )}
      </div>
      {d && def && (
        <dl class="facts">
          <div class="fact state" data-testid="state" data-state={def.name}>
            <dt>State</dt>
            <dd>
              <Sign def={def} /> <bdi>{def.name}</bdi>
            </dd>
          </div>
          <div class="fact">
            <dt>{d.incident_since && d.incident_since !== d.since ? "In this state" : "For"}</dt>
            <dd>
              <Age since={Date.parse(d.since!)} /> <Ahead time={Date.parse(d.time ?? "")} />
            </dd>
          </div>
          {d.incident_since && d.incident_since !== d.since && (
            <div class="fact">
              <dt>Not normal for</dt>
              <dd>
                <Age since={Date.parse(d.incident_since)} class="incident" />
              </dd>
            </div>
          )}
          <div class="fact">
            <dt>Operator</dt>
            <dd data-testid="operator">
              <OperatorLink name={d.operator} />
            </dd>
          </div>
          <div class="fact">
            <dt>Escalated to</dt>
            <dd data-testid="escalated">
              <SupervisorLink name={d.escalated_to} />
            </dd>
          </div>
          {d.maintenance && (
            <div class="fact" data-testid="maintenance">
              <dt>In maintenance</dt>
              <dd data-mark="▧">
                <a href={link("/maintenance")}>
                  <bdi>{d.maintenance.name}</bdi>
                </a>
                {d.maintenance.until && (
                  <>
                    {" "}
                    until <When at={d.maintenance.until} />
                  </>
                )}
              </dd>
            </div>
          )}
          <div class={`fact ${d.silent ? "warn" : ""}`}>
            <dt>{d.silent ? "Silent: last heard" : "Last heard"}</dt>
            <dd>
              <When at={d.received} />
            </dd>
          </div>
        </dl>
      )}
      {d?.escalation && <EscalationText of={d.escalation} />}
      <div class="actions">
        {(d || model.past.value?.known) && (
          <button type="button" class="primary" data-act="assign" onClick={() => act({ kind: "assign" })}>
            Assign…
          </button>
        )}
        {d && (
          <button type="button" data-act="escalate" onClick={() => act({ kind: "escalate" })}>
            Escalate…
          </button>
        )}
        {d?.escalated_to && (
          <button type="button" data-act="withdraw-escalation" onClick={() => act({ kind: "withdraw-escalation" })}>
            Withdraw escalation…
          </button>
        )}
      </div>
    </header>
  );
}

interface PastProps {
  model: DeviceModel;
  past: Past;
  act(a: Action): void;
  incidents: Incident[];
}

function PastOf({ model, past, act, incidents }: PastProps) {
  const earlier = incidents.filter((i) => i.status === "closed");
  return (
    <>
      <StripPanel model={model} past={past} />
      <ChartsPanel model={model} past={past} />
      <div class="columns">
        <div class="column">
          <IncidentTable title="Earlier incidents" of={earlier} states={statesOf(model)} />
          <EntriesPanel model={model} past={past} act={act} />
        </div>
        <div class="column">
          <AnswersPanel model={model} past={past} />
          <RunsPanel model={model} past={past} />
        </div>
      </div>
    </>
  );
}

const rowsAtOnce = 50;

const spanOf = ({ window: { from, to } }: Past) => queryOfWindow({ from, to });

function EntriesPanel({ model, past, act }: { model: DeviceModel; past: Past; act(a: Action): void }) {
  const [shown, setShown] = useState(rowsAtOnce);
  const entries = past.entries;
  return (
    <Panel title="Entries" aside={
        <div class="filters">
          <span class="total">{past.cut ? `newest ${entries.length}` : entries.length}</span>
          <Download path={`${model.path}/events`} query={spanOf(past)} columns={entryColumns} name="entries" />
        </div>
      }>
      {entries.length === 0 ? (
        <Notice kind="empty">
          <NoEntries past={past} />
        </Notice>
      ) : (
        <table aria-label="Entries" class="wide">
          <thead>
            <tr>
              <th>Time, {zoneId()}</th>
              <th>State</th>
              <th>Operator</th>
              <th>Escalated to</th>
              <th>Message</th>
              <th>
                <span class="sr">Withdraw</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {entries.slice(0, shown).map((e) => (
              <EntryRow key={e.time + e.state} model={model} entry={e} act={act} />
            ))}
          </tbody>
        </table>
      )}
      {entries.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + 4 * rowsAtOnce)}>
          More
        </button>
      )}
    </Panel>
  );
}

function EntryRow({ model, entry: e, act }: { model: DeviceModel; entry: Entry; act(a: Action): void }) {
  return (
    <tr data-state={e.state}>
      <td class="when">
        <When at={e.time} />
      </td>
      <td>
        <StateName def={lookOf(model, e.state)} />
      </td>
      <td>
        <OperatorLink name={e.operator} />
      </td>
      <td>
        <Escalated to={e.escalated_to} record={e.escalation} />
      </td>
      <td class="text" dir="auto">
        {e.message}
        <Attributes of={e.attributes} />
      </td>
      <td class="act">
        <button
          type="button"
          class="plain"
          data-act="withdraw"
          aria-label={`Withdraw… ${e.state} of ${moment(new Date(e.time), new Date(now.peek()))}`}
          title="Withdraw this entry…"
          onClick={() => act({ kind: "withdraw", entry: e })}
        >
          ⌫
        </button>
      </td>
    </tr>
  );
}

export function Attributes({ of }: { of: Record<string, unknown> | undefined }) {
  if (!of) return null;
  return (
    <span class="attributes">
      {Object.entries(of).map(([name, value]) => (
        <span key={name}>
          <bdi>{name}</bdi>=<bdi>{typeof value === "string" ? value : JSON.stringify(value)}</bdi>
        </span>
      ))}
    </span>
  );
}

/** Says where the entries are that this window has not, and goes there. */
function NoEntries({ past: { window, newest } }: { past: Past }) {
  if (!newest) return <>There are no entries of this device.</>;
  const at = Date.parse(newest);
  const show = () => setQuery(queryOfWindow(windowTo(at, window, now.peek())));
  return (
    <>
      No entries in this time. The newest is of <When at={newest} />:{" "}
      <button type="button" class="linkish" onClick={show}>
        Go to the newest entry
      </button>
    </>
  );
}

/** Who was assigned, and what was escalated to whom, in one order of time. */
function AnswersPanel({ model, past }: { model: DeviceModel; past: Past }) {
  const [shown, setShown] = useState(20);
  return (
    <Panel title="Who answered for it">
      {past.answers.length === 0 ? (
        <Notice kind="empty">In this time nobody was assigned, and nothing was escalated.</Notice>
      ) : (
        <table aria-label="Who answered for it">
          <thead>
            <tr>
              <th>Time, {zoneId()}</th>
              <th>Who</th>
            </tr>
          </thead>
          <tbody>
            {past.answers.slice(0, shown).map((a) => (
              <tr key={`${a.at} ${a.does} ${a.of?.time}`} data-does={a.does}>
                <td class="when">
                  <When at={a.at} />
                </td>
                <td class="text">
                  <AnswerText model={model} answer={a} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {past.answers.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + 100)}>
          More
        </button>
      )}
    </Panel>
  );
}

function AnswerText({ model, answer: a }: { model: DeviceModel; answer: Answer }) {
  if (a.does === "assigned") {
    return (
      <>
        {a.who ? (
          <>
            <span class="quiet">assigned to</span> <OperatorLink name={a.who} />{" "}
          </>
        ) : (
          <span class="quiet">unassigned </span>
        )}
        {a.until && <span class="quiet">until <When at={a.until} /></span>}
      </>
    );
  }
  return (
    <>
      {a.does === "escalated" ? (
        <>
          <span class="quiet">↑ escalated to</span> <SupervisorLink name={a.who} />
        </>
      ) : (
        <span class="quiet">↓ escalation withdrawn</span>
      )}
      {a.by && <span class="quiet"> by <bdi>{a.by}</bdi></span>}
      {a.of && (
        <span class="of">
          <StateName def={lookOf(model, a.of.state)} /> <span class="quiet">of <When at={a.of.time} /></span>
        </span>
      )}
      {a.note && <q dir="auto">{a.note}</q>}
    </>
  );
}

function RunsPanel({ model, past }: { model: DeviceModel; past: Past }) {
  const [shown, setShown] = useState(20);
  if (past.runs.length === 0) return null;
  return (
    <Panel title="Earlier and present states">
      <table aria-label="Runs">
        <thead>
          <tr>
            <th>State</th>
            <th>From</th>
            <th>For</th>
          </tr>
        </thead>
        <tbody>
          {past.runs.slice(0, shown).map((r) => (
            <tr key={r.from}>
              <td>
                <StateName def={lookOf(model, r.state)} />
              </td>
              <td class="when">
                <When at={new Date(r.from).toISOString()} />
              </td>
              <td class="c-age">
                <RunLength from={r.from} to={r.to} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {past.runs.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + 100)}>
          More
        </button>
      )}
    </Panel>
  );
}

function RunLength({ from, to }: { from: number; to: number }) {
  if (to === Infinity) return <Age since={from} class="running" />;
  return <span>{duration((to - from) / 1000)}</span>;
}
