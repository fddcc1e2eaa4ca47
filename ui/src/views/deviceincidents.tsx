import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { devicePath, incidentPath } from "../model/address";
import { isWaiting, lookOf, newest, type Incident } from "../model/incidents";
import type { StateDef } from "../model/states";
import { isGone, list } from "../net/api";
import { keepsIncidents } from "../net/session";
import { changes } from "../state/incidents";
import { link } from "../state/route";
import { DeedButtons, useDeeds, type Start } from "./incidentacts";
import { incidentsEvery, Lasts, Signs, StatusOf } from "./incidents";
import { useChanges } from "./pages";
import { countText, Panel, Sign, stateColours, StateName, When } from "./parts";

/** How many incidents of a device are shown: the page of the newest says more. */
const most = 50;

/** The incidents of a device, newest first, kept up to date; none where the server keeps none. */
export function useIncidentsOf(device: string | undefined): Incident[] {
  const [items, setItems] = useState<Incident[]>([]);
  const abort = useRef<AbortController | undefined>(undefined);
  const read = () => {
    abort.current?.abort();
    if (!keepsIncidents.peek() || device === undefined) return true;
    const { signal } = (abort.current = new AbortController());
    list<Incident>(`${devicePath(device)}/incidents`, { limit: String(most) }, signal).then(
      (page) => setItems(page.items),
      (error) => isGone(error) && setItems([]), // the rest of the page says what is wrong
    );
    return true;
  };
  useEffect(() => {
    read();
    return () => abort.current?.abort();
  }, [device, keepsIncidents.value]);
  useChanges(read, incidentsEvery, changes);
  return items;
}

interface Of {
  of: Incident[];
  states: StateDef[]; // of the tenant
}

/** The incidents of a device that are open, with what can be done about them. */
export function OpenIncidents({ of, states }: Of) {
  const { start, dialog } = useDeeds();
  const open = useMemo(() => of.filter((i) => i.status !== "closed"), [of]);
  return (
    <>
      {open.length > 0 && (
        <ol class="incident-rows of-device" aria-label="Open incidents">
          {open.map((i) => (
            <OpenIncident key={i.id} of={i} look={lookOf(i, states)} start={start} />
          ))}
        </ol>
      )}
      {dialog}
    </>
  );
}

function OpenIncident({ of: i, look, start }: { of: Incident; look: StateDef; start: Start }) {
  const { text, by, at } = newest(i);
  return (
    <li
      data-incident={i.id}
      data-status={i.status}
      class={isWaiting(i) ? "waits" : ""}
      style={stateColours(look)}
    >
      <div class="head">
        <Sign def={look} />
        <a class="id" href={link(incidentPath(i.id))}>
          Incident
        </a>
        <StatusOf of={i} />
        <Signs of={i} />
        <span class="age">
          {i.until && "lasted "}
          <Lasts of={i} />
        </span>
      </div>
      <div class="told">
        {by && (
          <p class="message" dir="auto">
            <q>{text}</q>{" "}
            <span class="quiet">
              <bdi>{by}</bdi>, <When at={at} />
            </span>
          </p>
        )}
      </div>
      <DeedButtons of={i} short="device" start={start} />
    </li>
  );
}

/** Incidents in a table, newest first. */
export function IncidentTable({ of, states, title }: Of & { title: string }) {
  const [shown, setShown] = useState(10);
  if (of.length === 0) return null;
  return (
    <Panel title={title} aside={<span class="total">{of.length < most ? countText(of.length) : `newest ${most}`}</span>}>
      <table aria-label={title} class="wide">
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
          {of.slice(0, shown).map((i) => (
            <tr key={i.id} data-incident={i.id}>
              <td class="when">
                <a href={link(incidentPath(i.id))}>
                  <When at={i.since} />
                </a>
              </td>
              <td>
                <StateName def={lookOf(i, states, i.worst)} />
              </td>
              <td class="c-age">
                <Lasts of={i} />
              </td>
              <td>{i.late ? `${i.status}, late` : i.status}</td>
              <td class="text" dir="auto">
                {newest(i).text}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {of.length > shown && (
        <button type="button" class="more" onClick={() => setShown(most)}>
          More
        </button>
      )}
    </Panel>
  );
}
