import { useMemo, useState } from "preact/hooks";
import { actsOn, type Act, type Incident } from "../model/incidents";
import { Problem, reason } from "../net/api";
import { act } from "../state/incidents";
import { myName } from "../state/prefs";
import { Form, Note, Person, YourName } from "./actions";
import { useViewKeys } from "./keys";
import { say } from "./toast";

/** An action as the page names it. One that needs nothing but a name is done at once. */
interface Deed {
  name: string;
  key?: string;
  atOnce?: boolean;
  done(i: Incident, data: Record<string, string>): string;
}

export const deeds: Record<Act, Deed> = {
  acknowledge: { name: "Acknowledge", key: "a", atOnce: true, done: (i) => `${i.device} is acknowledged` },
  take: { name: "Take", key: "t", atOnce: true, done: (i) => `${i.device} is yours now` },
  escalate: { name: "Escalate…", key: "e", done: (i, d) => `${i.device} is escalated to ${d.person}` },
  shelve: { name: "Shelve…", key: "s", done: (i) => `${i.device} is shelved` },
  unshelve: { name: "Unshelve", key: "s", atOnce: true, done: (i) => `${i.device} is back on the list` },
  comment: { name: "Comment…", key: "c", done: () => "The comment is there" },
  reset: { name: "Reset", atOnce: true, done: (i) => `${i.device} is reset` },
  "out-of-service": { name: "Out of service…", done: (i) => `${i.device} is out of service` },
  "in-service": { name: "Back in service", atOnce: true, done: (i) => `${i.device} is back in service` },
};

/** Those that have a place in each row of the list. */
const inRows: Act[] = ["reset", "acknowledge", "take", "escalate", "shelve", "unshelve"];

interface Doing {
  what: Act;
  on: Incident;
  problem?: string; // why it could not be done at once
}

/** Whether the server refuses the name of who does something: it is asked for again. */
const isOfName = (error: unknown) =>
  error instanceof Problem && error.fields.some((f) => f.location === "body.by");

/** On the page of a device it has buttons of its own to escalate and to assign. */
const onDevice: Act[] = ["reset", "acknowledge", "take", "shelve", "unshelve"];

export type Start = (what: Act, on: Incident) => void;

/** What is done about incidents on a page: at once, or after a dialog. */
export function useDeeds() {
  const [doing, setDoing] = useState<Doing>();
  const start = async (what: Act, on: Incident) => {
    const by = myName.peek();
    if (!deeds[what].atOnce || by === "") return setDoing({ what, on });
    try {
      say(deeds[what].done(await act(on.id, what, { by }), {}));
    } catch (error) {
      if (isOfName(error)) return setDoing({ what, on, problem: reason(error) });
      say(`Not done: ${reason(error)}`);
    }
  };
  const dialog = doing && (
    <DeedDialog key={doing.on.id + doing.what} {...doing} onClose={() => setDoing(undefined)} />
  );
  return { start, dialog };
}

/** One key each, for the incident that is found by its id where the focus is. */
export function useDeedKeys(find: () => Incident | undefined, start: Start) {
  const latest = { find, start };
  const kept = useMemo(() => ({ now: latest }), []);
  kept.now = latest;
  const keys = useMemo(() => {
    const run = (...whats: Act[]) => () => {
      const on = kept.now.find();
      const what = on && whats.find((w) => actsOn(on, myName.peek()).includes(w));
      if (on && what) kept.now.start(what, on);
    };
    return [
      { key: "a", does: "Acknowledge", run: run("acknowledge") },
      { key: "t", does: "Take", run: run("take") },
      { key: "e", does: "Escalate", run: run("escalate") },
      { key: "s", does: "Shelve, or unshelve", run: run("shelve", "unshelve") },
      { key: "c", does: "Comment", run: run("comment") },
    ];
  }, []);
  useViewKeys(keys);
}

/** The buttons of an incident. */
export function DeedButtons(props: {
  of: Incident;
  short?: "list" | "device"; // only those that a row there has
  start: Start;
}) {
  const some = props.short === "device" ? onDevice : inRows;
  const acts = actsOn(props.of, myName.value).filter((a) => !props.short || some.includes(a));
  return (
    <div class="actions deeds" role="group" aria-label={`What to do about ${props.of.device}`}>
      {acts.map((a, n) => (
        <button
          key={a}
          type="button"
          data-act={a}
          class={n === 0 && !props.short ? "primary" : ""}
          aria-keyshortcuts={deeds[a].key}
          onClick={() => props.start(a, props.of)}
        >
          {deeds[a].name}
        </button>
      ))}
    </div>
  );
}

function DeedDialog({ what, on, problem, onClose }: Doing & { onClose(): void }) {
  const { name, done } = deeds[what];
  const verb = name.replace("…", "");
  const send = async (data: Record<string, string>) => done(await act(on.id, what, bodyOf(what, data)), data);
  return (
    <Form title={`${verb}: ${on.device}`} submit={verb} problem={problem} onClose={onClose} send={send}>
      <Fields of={what} />
      <YourName required autofocus={deeds[what].atOnce} />
    </Form>
  );
}

function Fields({ of }: { of: Act }) {
  switch (of) {
    case "escalate":
      return (
        <>
          <Person label="Supervisor" from="/supervisors" />
          <Note />
        </>
      );
    case "comment":
      return <Note required autofocus />;
    case "shelve":
      return (
        <>
          <p>It leaves the list, and nobody is told of it until then.</p>
          <Reason required />
          <label>
            For
            <select name="for">
              {shelfTimes.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        </>
      );
    case "out-of-service":
      return <Reason />;
    default:
      return null;
  }
}

function Reason(props: { required?: boolean }) {
  return (
    <label>
      Reason
      <input name="reason" autofocus autocomplete="off" dir="auto" maxLength={500} {...props} />
    </label>
  );
}

/** How long an incident may be shelved; "once": until its device returns to normal. */
const shelfTimes = [
  ["1h", "1 hour"],
  ["30m", "30 minutes"],
  ["4h", "4 hours"],
  ["8h", "8 hours"],
  ["24h", "24 hours"],
  ["once", "until it returns to normal"],
];

/** The body of a request, out of the fields of its form. */
function bodyOf(what: Act, data: Record<string, string>): Record<string, unknown> {
  const text = (name: string) => data[name] || undefined;
  const once = what === "shelve" && data.for === "once";
  return {
    by: data.by,
    to: text("person"),
    note: text("note"),
    reason: text("reason"),
    for: once ? undefined : text("for"),
    once: once || undefined,
  };
}
