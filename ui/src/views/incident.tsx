import { useEffect, useRef, useState } from "preact/hooks";
import { incidentPath } from "../model/address";
import { marks, meaning, stepText, type Incident, type Step } from "../model/incidents";
import { zoneId } from "../model/time";
import { isAborted, isGone, reason, request } from "../net/api";
import { changes } from "../state/incidents";
import { stateByName } from "../state/live";
import { IncidentTable, useIncidentsOf } from "./deviceincidents";
import { DeedButtons, useDeedKeys, useDeeds, type Start } from "./incidentacts";
import { IncidentPage, incidentsEvery, Lasts, Signs } from "./incidents";
import { useChanges } from "./pages";
import { countText, DeviceLink, incidentLook, Notice, OperatorLink, Panel, Sign, stateColours, When } from "./parts";

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
  problem: string;
}

/** An incident, kept up to date. */
function useIncident(id: string): Read {
  const [state, setState] = useState<Read>({ problem: "" });
  const abort = useRef<AbortController | undefined>(undefined);
  const read = async () => {
    abort.current?.abort();
    const { signal } = (abort.current = new AbortController());
    try {
      setState({ is: await request<Incident>("GET", incidentPath(id), { signal }), problem: "" });
    } catch (error) {
      if (isAborted(error)) return;
      setState((s) => ({ is: isGone(error) ? undefined : s.is, problem: reason(error) }));
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
  const { is, problem } = useIncident(id);
  const others = useIncidentsOf(is?.device).filter((i) => i.id !== id);
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
          <IncidentTable title="Others of this device" of={others} states={[...stateByName.value.values()]} />
        </>
      )}
      {dialog}
    </>
  );
}

function Now({ of: i, start }: { of: Incident; start: Start }) {
  const def = incidentLook(i);
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
          <span data-mark={marks[i.status]} title={meaning[i.status]}>
            {i.status}
          </span>
          <Signs of={i} />
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
            <th>Time, {zoneId()}</th>
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
