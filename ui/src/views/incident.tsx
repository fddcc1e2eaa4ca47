import { useEffect, useRef, useState } from "preact/hooks";
import { devicePath, incidentPath } from "../model/address";
import { meaning, stepText, type Incident, type Step } from "../model/incidents";
import { zoneShort } from "../model/time";
import { isAborted, list, reason, request } from "../net/api";
import { changes } from "../state/incidents";
import { link } from "../state/route";
import { DeedButtons, useDeedKeys, useDeeds } from "./incidentacts";
import { IncidentPage, incidentsEvery, Lasts } from "./incidents";
import { useChanges } from "./pages";
import { countText, defOf, DeviceLink, Notice, OperatorLink, Panel, Sign, stateColours, StateName, When } from "./parts";

/** One incident: what it is, who did what about it, and what else its device had. */
export function IncidentView({ id }: { id: string }) {
  return (
    <IncidentPage view="incident" title="Incident">
      <Whole id={id} />
    </IncidentPage>
  );
}

interface Read {
  is?: Incident;
  others: Incident[];
  problem: string;
}

/** An incident with the others of its device, kept up to date. */
function useIncident(id: string): Read {
  const [state, setState] = useState<Read>({ others: [], problem: "" });
  const abort = useRef<AbortController | undefined>(undefined);
  const read = async () => {
    abort.current?.abort();
    const { signal } = (abort.current = new AbortController());
    try {
      const is = await request<Incident>("GET", incidentPath(id), { signal });
      setState((s) => ({ ...s, is, problem: "" }));
      const { items } = await list<Incident>(`${devicePath(is.device)}/incidents`, { limit: "20" }, signal);
      setState({ is, others: items.filter((i) => i.id !== id), problem: "" });
    } catch (error) {
      if (!isAborted(error)) setState((s) => ({ ...s, problem: reason(error) }));
    }
  };
  useEffect(() => {
    void read();
    return () => abort.current?.abort();
  }, [id]);
  useChanges(() => {
    void read();
    return true;
  }, incidentsEvery, changes);
  return state;
}

function Whole({ id }: { id: string }) {
  const { is, others, problem } = useIncident(id);
  const { start, dialog } = useDeeds();
  useDeedKeys(() => is, start);
  return (
    <>
      {problem && <Notice kind="error">{problem}</Notice>}
      {!is && !problem && <Notice kind="loading">Loading…</Notice>}
      {is && (
        <>
          <Now of={is} start={start} />
          <Steps of={is.steps ?? []} />
          {others.length > 0 && <Others of={others} />}
        </>
      )}
      {dialog}
    </>
  );
}

function Now({ of: i, start }: { of: Incident; start: Parameters<typeof DeedButtons>[0]["start"] }) {
  const def = defOf(i.state, i.severity);
  return (
    <header class={`now ${i.until ? "" : "bad"}`} style={stateColours(def)} data-incident={i.id} data-status={i.status}>
      <div class="who">
        <h2>
          <DeviceLink id={i.device} />
        </h2>
        {i.message && (
          <p class="message" dir="auto">
            {i.message}
          </p>
        )}
      </div>
      <dl class="facts">
        <Fact name="State">
          <Sign def={def} /> <bdi>{def.name}</bdi>
        </Fact>
        <Fact name={i.until ? "Lasted" : "For"}>
          <Lasts of={i} />
        </Fact>
        <Fact name="Status" id="status">
          <span title={meaning[i.status]}>{i.status}</span>
        </Fact>
        <Fact name="Operator" id="operator">
          <OperatorLink name={i.operator} />
        </Fact>
        {i.acknowledged && (
          <Fact name="Acknowledged">
            <bdi>{i.acknowledged.by}</bdi>
          </Fact>
        )}
        {i.escalation?.next_at && (
          <Fact name={`Next step of ${i.escalation.policy}`}>
            <When at={i.escalation.next_at} />
          </Fact>
        )}
      </dl>
      <Aside of={i} />
      <DeedButtons of={i} start={start} />
    </header>
  );
}

/** Why an incident is hidden, if it is. */
function Aside({ of: i }: { of: Incident }) {
  const { shelved, out_of_service: removed, maintenance } = i;
  return (
    <>
      {shelved && (
        <p class="escalation">
          Shelved by <bdi>{shelved.by}</bdi>{" "}
          {shelved.once ? "until it returns to normal" : <>until <When at={shelved.until} /></>}:{" "}
          <q dir="auto">{shelved.reason}</q>
        </p>
      )}
      {removed && (
        <p class="escalation">
          Out of service by <bdi>{removed.by}</bdi> {removed.reason && <q dir="auto">{removed.reason}</q>}
        </p>
      )}
      {maintenance && (
        <p class="escalation">
          In maintenance: <bdi>{maintenance}</bdi>
        </p>
      )}
    </>
  );
}

function Fact(props: { name: string; id?: string; children: preact.ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{props.name}</dt>
      <dd data-testid={props.id}>{props.children}</dd>
    </div>
  );
}

/** What happened, newest first. */
function Steps({ of }: { of: Step[] }) {
  return (
    <Panel title="What happened" aside={<span class="total">{countText(of.length)}</span>}>
      <table aria-label="Steps" class="wide">
        <thead>
          <tr>
            <th>Time, {zoneShort()}</th>
            <th>What</th>
            <th>By</th>
            <th>Note</th>
          </tr>
        </thead>
        <tbody>
          {of.toReversed().map((s, n) => (
            <tr key={of.length - n} data-what={s.what}>
              <td class="when">
                <When at={s.at} />
              </td>
              <td>
                <b>
                  <bdi>{stepText(s)}</bdi>
                </b>
              </td>
              <td>{s.by ? <bdi>{s.by}</bdi> : <span class="none">Andon</span>}</td>
              <td class="text" dir="auto">
                {s.note}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** The newest other incidents of the device. */
function Others({ of }: { of: Incident[] }) {
  return (
    <Panel title="Others of this device">
      <table aria-label="Others of this device" class="wide">
        <thead>
          <tr>
            <th>Since</th>
            <th>Worst</th>
            <th>Lasted</th>
            <th>Status</th>
            <th>Message</th>
          </tr>
        </thead>
        <tbody>
          {of.map((i) => (
            <tr key={i.id}>
              <td class="when">
                <a href={link(incidentPath(i.id))}>
                  <When at={i.since} />
                </a>
              </td>
              <td>
                <StateName def={defOf(i.state, i.severity)} />
              </td>
              <td>
                <Lasts of={i} />
              </td>
              <td>{i.late ? `${i.status}, late` : i.status}</td>
              <td class="text" dir="auto">
                {i.message}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
