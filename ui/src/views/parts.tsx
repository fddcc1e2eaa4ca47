import type { ComponentChildren, CSSProperties } from "preact";
import { devicePath, operatorPath, supervisorPath } from "../model/address";
import type { Device, Escalation } from "../model/fleet";
import { lookOf, marks, type Incident } from "../model/incidents";
import { readable, unknownState, type StateDef } from "../model/states";
import { duration, isAhead, isoDuration, moment } from "../model/time";
import { now } from "../state/clock";
import { stateByName } from "../state/live";
import { link } from "../state/route";

/** The colours of a state for the style sheets: --state and the ink that is read on it. */
export function stateColours(def: StateDef): CSSProperties {
  const { ground, ink } = readable(def.colour);
  return { "--state": ground, "--ink": ink } as CSSProperties;
}

export function defOf(name: string | undefined, severity?: number): StateDef {
  return stateByName.value.get(name ?? "") ?? unknownState(name ?? "", severity);
}

/** How an incident looks, by the states of the tenant. */
export function incidentLook(i: Incident, severity?: number): StateDef {
  return lookOf(i, [...stateByName.value.values()], severity);
}

/** The sign of a state: colour, shape and letter say the same. */
export function Sign({ def }: { def: StateDef }) {
  return (
    <span class={`sign ${def.severity === 0 ? "well" : ""}`} style={stateColours(def)} aria-hidden="true">
      <i>{def.symbol}</i>
      <b>{def.letter}</b>
    </span>
  );
}

/** A state with its sign and its name. */
export function StateName({ def }: { def: StateDef }) {
  return (
    <span class="state-name">
      <Sign def={def} />
      <bdi>{def.name}</bdi>
    </span>
  );
}

/** How long it is since a time (in milliseconds), ticking. */
export function Age({ since, class: c = "age" }: { since: number; class?: string }) {
  const s = (now.value - since) / 1000;
  return (
    <time class={c} data-testid="age" dateTime={isoDuration(s)}>
      {duration(s)}
    </time>
  );
}

const grouped = new Intl.NumberFormat("en");

/** A count as it is read: 91,695. */
export const countText = (n: number) => grouped.format(n);

/** A moment in the viewer's zone. */
export function When({ at }: { at: string | undefined }) {
  if (!at) return <span class="none">–</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={at}>
      {moment(date, new Date(now.peek()))}
    </time>
  );
}

export function DeviceLink({ id }: { id: string }) {
  return (
    <a class="id" href={link(devicePath(id))}>
      <bdi>{id}</bdi>
    </a>
  );
}

export function OperatorLink({ name }: { name: string | null | undefined }) {
  if (!name) return <Nobody />;
  return (
    <a href={link(operatorPath(name))}>
      <bdi>{name}</bdi>
    </a>
  );
}

export function SupervisorLink({ name }: { name: string | null | undefined }) {
  if (!name) return <Nobody />;
  return (
    <a href={link(supervisorPath(name))}>
      <bdi>{name}</bdi>
    </a>
  );
}

/** Nobody is no name, and looks like none. */
function Nobody() {
  return (
    <span class="none">
      <span aria-hidden="true">–</span>
      <span class="sr">nobody</span>
    </span>
  );
}

/** To whom something is escalated, with the note, who escalated it, and when. */
export function Escalated({ to, record }: { to: string | null | undefined; record?: Escalation }) {
  return (
    <>
      <SupervisorLink name={to} />
      {to && record && <EscalationText of={record} />}
    </>
  );
}

/** What the newest record of an escalation says. */
export function EscalationText({ of: { at, by, note } }: { of: Escalation }) {
  return (
    <span class="escalation" data-testid="escalation">
      {note && <q dir="auto">{note}</q>}{" "}
      <span class="quiet">
        {by && (
          <>
            by <bdi>{by}</bdi>,{" "}
          </>
        )}
        <When at={at} />
      </span>
    </span>
  );
}

/** Marks a device whose newest entry is later than now: until then it shows that entry. */
export function Ahead({ time }: { time: number | undefined }) {
  if (time === undefined || !isAhead(time, now.value)) return null;
  return (
    <span class="tag ahead" title={`Its newest entry is of ${moment(new Date(time), new Date(now.peek()))}`}>
      clock ahead
    </span>
  );
}

/** Marks a device that is in maintenance. */
export function InMaintenance({ by }: { by: Device["maintenance"] }) {
  if (!by || (by.until && Date.parse(by.until) <= now.value)) return null;
  const until = by.until ? ` until ${moment(new Date(by.until), new Date(now.peek()))}` : "";
  return (
    <span class="tag is" data-testid="maintenance" data-mark={marks.suppressed} title={by.name + until}>
      maintenance
    </span>
  );
}

/** A part of a page that has nothing, has not come yet, or failed. */
export function Notice(props: { kind: "empty" | "loading" | "error"; children: ComponentChildren }) {
  return (
    <div class={`notice ${props.kind}`} role={props.kind === "error" ? "alert" : "status"}>
      {props.children}
    </div>
  );
}

/** A page that has nothing to show yet, or can't: what it is, and what to do. */
export function Blank(props: { title: string; bad?: boolean; children: ComponentChildren }) {
  return (
    <section class={`blank ${props.bad ? "bad" : ""}`} role={props.bad ? "alert" : "status"}>
      <span class="lamp big" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

export function Panel(props: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  const id = "panel-" + props.title.toLowerCase().replace(/\W+/g, "-");
  return (
    <section class={`panel ${props.class ?? ""}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}
