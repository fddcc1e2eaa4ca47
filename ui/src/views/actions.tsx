import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { moment } from "../model/time";
import { list, reason, request } from "../net/api";
import { now } from "../state/clock";
import type { DeviceModel, Entry } from "../state/device";
import { myName } from "../state/prefs";
import { Dialog } from "./dialog";
import { say } from "./toast";

/** What a person is about to do with a device. */
export type Action =
  | { kind: "assign" | "escalate" | "withdraw-escalation" }
  | { kind: "withdraw"; entry: Entry };

interface Props {
  model: DeviceModel;
  onClose(): void;
}

export function ActionDialog({ action, ...props }: Props & { action: Action }) {
  switch (action.kind) {
    case "assign":
      return <Assign {...props} />;
    case "escalate":
      return <Escalate {...props} />;
    case "withdraw-escalation":
      return <WithdrawEscalation {...props} />;
    case "withdraw":
      return <Withdraw {...props} entry={action.entry} />;
  }
}

/** A form in a dialog: sends, says what failed, and closes when it is done. */
export function Form(props: {
  title: string;
  submit: string;
  onClose(): void;
  send(data: Record<string, string>): Promise<string>;
  also?: ComponentChildren;
  danger?: boolean;
  cautious?: boolean; // the focus begins on Cancel
  disabled?: boolean; // there is nothing to be sent yet
  problem?: string; // why it is asked for
  children: ComponentChildren;
}) {
  const [problem, setProblem] = useState(props.problem ?? "");
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement, event.submitter);
    const data = Object.fromEntries([...form].map(([k, v]) => [k, String(v).trim()]));
    setBusy(true);
    setProblem("");
    try {
      say(await props.send(data));
      if (data.by !== undefined) myName.value = data.by; // the server has taken it
      props.onClose();
    } catch (error) {
      setProblem(reason(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form class="action" onSubmit={onSubmit}>
        {props.children}
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="buttons">
          {/* What can't be undone is not done by Enter alone, pressed twice. */}
          <button type="button" autofocus={props.cautious} onClick={props.onClose}>
            Cancel
          </button>
          <button class={props.danger ? "danger" : "primary"} name="do" value="yes" disabled={busy || props.disabled}>
            {props.submit}
          </button>
          {/* After the other, for Enter presses the first button that submits. */}
          {props.also}
        </div>
      </form>
    </Dialog>
  );
}

/** A field for a person, who may be new: the known ones are offered. */
export function Person({ label, from, value = "" }: { label: string; from: string; value?: string }) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    list<{ name: string }>(from, { limit: "1000" }).then(
      (page) => setNames(page.items.map((p) => p.name)),
      () => undefined, // without them the name is typed
    );
  }, []);
  return (
    <label>
      {label}
      <input name="person" list="people" required autofocus autocomplete="off" defaultValue={value} dir="auto" />
      <datalist id="people">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

function NoteAndName({ autofocus = false }: { autofocus?: boolean }) {
  return (
    <>
      <Note autofocus={autofocus} />
      <YourName />
    </>
  );
}

export function Note(props: { autofocus?: boolean; required?: boolean }) {
  return (
    <label>
      Note
      <input name="note" autocomplete="off" dir="auto" maxLength={500} {...props} />
    </label>
  );
}

export function YourName(props: { autofocus?: boolean; required?: boolean }) {
  return (
    <label>
      Your name
      <input name="by" defaultValue={myName.peek()} autocomplete="name" dir="auto" {...props} />
    </label>
  );
}

const some = (text: string) => text || undefined;

function Assign({ model, onClose }: Props) {
  const present = model.now.value?.operator;
  const send = async (data: Record<string, string>) => {
    const operator = data.do === "no" ? null : data.person;
    await request("PUT", `${model.path}/operator`, { body: { operator } });
    await model.refresh();
    return operator ? `${operator} answers for ${model.id} now` : `Nobody answers for ${model.id} now`;
  };
  return (
    <Form
      title={`Assign ${model.id}`}
      submit="Assign"
      onClose={onClose}
      send={send}
      also={
        present && (
          <button name="do" value="no" class="left" formNoValidate>
            Unassign
          </button>
        )
      }
    >
      <p>{present ? <>Now <b><bdi>{present}</bdi></b> answers for it.</> : "Nobody answers for it now."}</p>
      <Person label="Operator" from="/operators" />
    </Form>
  );
}

function Escalate({ model, onClose }: Props) {
  const d = model.now.value;
  const send = async ({ person, note, by }: Record<string, string>) => {
    await request("POST", `${model.path}/escalations`, {
      body: { to: person, note: some(note), by: some(by) },
    });
    await model.refresh();
    return `${model.id} is escalated to ${person}`;
  };
  return (
    <Form title={`Escalate ${model.id}`} submit="Escalate" onClose={onClose} send={send}>
      <p>
        Its present entry, <b><bdi>{d?.state}</bdi></b>, goes to a supervisor
        {d?.escalated_to && <>, instead of to <b><bdi>{d.escalated_to}</bdi></b></>}.
      </p>
      <Person label="Supervisor" from="/supervisors" />
      <NoteAndName />
    </Form>
  );
}

function WithdrawEscalation({ model, onClose }: Props) {
  const to = model.now.value?.escalated_to ?? "";
  const send = async ({ note, by }: Record<string, string>) => {
    for (const { time, state } of await escalated(model, to)) {
      await request("POST", `${model.path}/escalations`, {
        body: { to: null, time, state, note: some(note), by: some(by) },
      });
    }
    await model.refresh();
    return `The escalation to ${to} is withdrawn`;
  };
  return (
    <Form title="Withdraw the escalation" submit="Withdraw" danger onClose={onClose} send={send}>
      <p>
        <b><bdi>{to}</bdi></b> no longer has <b><bdi>{model.id}</bdi></b> on the list. The record of it stays.
      </p>
      <NoteAndName autofocus />
    </Form>
  );
}

/** The entries of the present incident that a supervisor has: the newest need not be one of them. */
async function escalated(model: DeviceModel, to: string): Promise<Entry[]> {
  const from = model.now.value?.incident_since ?? model.now.value?.since;
  const found: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await list<Entry>(`${model.path}/events`, { from, limit: "1000", cursor });
    found.push(...page.items.filter((e) => e.escalated_to === to));
    cursor = page.next;
  } while (cursor);
  return found;
}

function Withdraw({ model, onClose, entry }: Props & { entry: Entry }) {
  const send = async ({ note, by }: Record<string, string>) => {
    const path = `${model.path}/events/${encodeURIComponent(entry.time)}/${encodeURIComponent(entry.state)}`;
    await request("DELETE", path, { body: { note: some(note), by: some(by) } });
    await model.refresh();
    return "The entry is withdrawn";
  };
  return (
    <Form title="Withdraw an entry" submit="Withdraw" danger cautious onClose={onClose} send={send}>
      <p>
        <b><bdi>{entry.state}</bdi></b> of {moment(new Date(entry.time), new Date(now.peek()))} no longer counts, as if
        it had never been sent. This can’t be undone; the record of it stays.
      </p>
      <NoteAndName />
    </Form>
  );
}
