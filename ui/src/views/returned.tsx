import { useEffect, useState } from "preact/hooks";
import { failuresText, type Incident } from "../model/incidents";
import { all, isAborted, reason } from "../net/api";
import { act, counts } from "../state/incidents";
import { Form, Note, YourName } from "./actions";
import { countText } from "./parts";

/** How many are acknowledged at once, at most; and how many requests are under way. */
const most = 1000;
const atOnce = 4;

/** Acknowledges all incidents that are normal again, after one question. */
export function AcknowledgeReturned() {
  const [open, setOpen] = useState(false);
  const n = counts.value?.statuses.returned ?? 0;
  return (
    <>
      {n > 0 && (
        <button type="button" class="all" data-act="acknowledge-all" onClick={() => setOpen(true)}>
          Acknowledge all {countText(n)}…
        </button>
      )}
      {open && <Ask onClose={() => setOpen(false)} />}
    </>
  );
}

/** It is about those that are there when it opens: nobody has seen what comes meanwhile. */
function Ask({ onClose }: { onClose(): void }) {
  const [left, setLeft] = useState<Incident[]>();
  const [more, setMore] = useState<string>();
  useEffect(() => {
    const ended = new AbortController();
    all<Incident>("/incidents", { status: "returned" }, most, ended.signal).then(
      ({ items, cut }) => {
        setLeft(items);
        if (cut) setMore("There are more of them, which are left for another time.");
      },
      (error) => !isAborted(error) && setMore(reason(error)),
    );
    return () => ended.abort();
  }, []);
  const send = async ({ by, note }: Record<string, string>) => {
    const [todo, failed] = [[...(left ?? [])], [] as { of: Incident; why: string }[]];
    const work = async () => {
      for (let of = todo.shift(); of; of = todo.shift()) {
        await act(of.id, "acknowledge", { by, note: note || undefined }).catch((error) =>
          failed.push({ of: of!, why: reason(error) }),
        );
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    const done = (left?.length ?? 0) - failed.length;
    setLeft(failed.map((f) => f.of)); // the rest is not asked for again
    if (failed.length > 0) throw new Error(failuresText(done, failed));
    return `${countText(done)} are acknowledged`;
  };
  return (
    <Form title="Acknowledge all that returned" submit="Acknowledge" disabled={!left?.length} onClose={onClose} send={send}>
      <p>
        {left ? <b data-testid="left">{countText(left.length)}</b> : "…"} incidents returned to normal before anybody
        had seen them. You say that you have seen them. {more}
      </p>
      <Note />
      <YourName required autofocus />
    </Form>
  );
}
