import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { coming, daysFrom, inOrder, planned, spanText, type Planned } from "../model/agenda";
import { devicesOf, repeats, type Maintenance } from "../model/duty";
import { toLocalInput } from "../model/time";
import { all, change, list, request } from "../net/api";
import { now, today } from "../state/clock";
import { Form, Note, YourName } from "./actions";
import { agendaOf, Instead, useAgain } from "./again";
import { IncidentPage } from "./incidents";
import { Panel } from "./parts";
import { Weeks, WeeksHead } from "./weeks";

/** When devices are in maintenance, in the coming four weeks. */
export function MaintenanceView() {
  return (
    <IncidentPage view="maintenance" title="Maintenance">
      <Calendar />
    </IncidentPage>
  );
}

/** How many windows are shown. */
const most = 200;

function Calendar() {
  const days = useMemo(() => daysFrom(now.peek()), [today.value]);
  const [doing, setDoing] = useState<"plan" | Planned>();
  const found = useAgain(async (signal) => {
    const [windows, agenda] = await Promise.all([
      all<Maintenance>("/maintenance", {}, most, signal),
      agendaOf(days, signal),
    ]);
    return { items: windows.items, times: agenda.maintenance };
  }, [days]);
  const close = () => {
    setDoing(undefined);
    found.again();
  };
  const minute = Math.floor(now.value / 60_000);
  const items = useMemo(
    () => found.is?.items.map((m) => planned(m, found.is!.times, now.peek())).sort(inOrder(now.peek())) ?? [],
    [found.is, minute],
  );
  return (
    <Panel
      title="The coming four weeks"
      aside={
        <button type="button" class="primary" data-act="plan" onClick={() => setDoing("plan")}>
          Plan maintenance…
        </button>
      }
    >
      <Instead of={found} none="No maintenance is planned." />
      {items.length > 0 && (
        <div class="plan">
          <WeeksHead days={days} />
          <ol aria-label="Maintenance windows">
            {items.map((p) => (
              <Window key={p.of.name} of={p} days={days} end={() => setDoing(p)} />
            ))}
          </ol>
        </div>
      )}
      {doing === "plan" && <Plan onClose={close} />}
      {doing && doing !== "plan" && <End of={doing} onClose={close} />}
    </Panel>
  );
}

/** How many of its times a window names. */
const named = 2;

function Window({ of: p, days, end }: { of: Planned; days: number[]; end(): void }) {
  const { of: m, bars, when } = p;
  const next = coming(bars, now.peek());
  const more = next.length - named;
  const times = next.slice(0, named).map(spanText).join("; ") + (more > 0 ? `; and ${more} more` : "");
  const text = times || (when === "over" ? "over" : "not within four weeks");
  return (
    <li data-window={m.name} data-when={when}>
      <div class="what">
        <p>
          <b>
            <bdi>{m.name}</bdi>
          </b>{" "}
          {when === "now" && <span class="tag is">▧ now</span>}
          {when === "over" && <span class="tag">over</span>}
        </p>
        <p>
          <bdi>{devicesOf(m)}</bdi>
          <span class="quiet">
            , {repeats(m.rrule)}
            {m.rrule && m.zone && `, ${m.zone}`}
          </span>
        </p>
        {(m.note || m.by) && (
          <p class="quiet" dir="auto">
            {m.note && <q>{m.note}</q>} {m.by && <bdi>{m.by}</bdi>}
          </p>
        )}
      </div>
      <Weeks days={days} bars={bars} label={`${m.name}: ${text}`} />
      <p class="times">{text}</p>
      <button type="button" data-act={endsNow(p) ? "end" : "remove"} onClick={end}>
        {endsNow(p) ? "End now…" : "Remove…"}
      </button>
    </li>
  );
}

/** A window that comes only once is ended by making it shorter: what was stays on record. */
const endsNow = (p: Planned) => p.when === "now" && !p.of.rrule;

const pathOf = (name: string) => `/maintenance/${encodeURIComponent(name)}`;

function End({ of: p, onClose }: { of: Planned; onClose(): void }) {
  const { name, rrule } = p.of;
  const send = async () => {
    if (endsNow(p)) {
      await change<Maintenance>(pathOf(name), (m) => ({ ...m, length: lengthUntil(m.start) }));
      return `${name} has ended`;
    }
    await request("DELETE", pathOf(name));
    return `${name} is removed`;
  };
  const verb = endsNow(p) ? "End" : "Remove";
  return (
    <Form title={`${verb} ${name}`} submit={endsNow(p) ? "End now" : "Remove"} danger cautious onClose={onClose} send={send}>
      <p>
        {endsNow(p)
          ? "Incidents of its devices count again from now on."
          : rrule
            ? "It repeats: all its times are removed, also the present one."
            : "It is removed from the calendar."}
      </p>
    </Form>
  );
}

/** How long a window has lasted, as the API writes it: a minute is the shortest that there is. */
const lengthUntil = (start: string) => `${Math.max(60, Math.floor((now.peek() - Date.parse(start)) / 1000))}s`;

const lengths = [
  ["1h", "1 hour"],
  ["30m", "30 minutes"],
  ["2h", "2 hours"],
  ["4h", "4 hours"],
  ["8h", "8 hours"],
  ["1d", "1 day"],
  ["3d", "3 days"],
];

const rules = [
  ["", "once"],
  ["FREQ=DAILY", "daily"],
  ["FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "Monday to Friday"],
  ["FREQ=WEEKLY", "weekly"],
  ["FREQ=WEEKLY;INTERVAL=2", "every 2 weeks"],
  ["FREQ=MONTHLY", "monthly"],
];

export function Choice({ label, name, of }: { label: string; name: string; of: string[][] }) {
  return (
    <label>
      {label}
      <select name={name}>
        {of.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What a person means by lines such as "press-7" or "press-*". Names may hold commas and spaces. */
function selected(text: string): Pick<Maintenance, "devices" | "prefix"> {
  const lines = text.split("\n").filter(Boolean);
  const [prefix, ...more] = lines.filter((l) => l.endsWith("*"));
  if (more.length > 0) throw new Error("One prefix such as press-* is as many as there can be");
  if (prefix === "*") throw new Error("* alone is all devices: name a group, or a prefix such as press-*");
  const devices = lines.filter((l) => !l.endsWith("*"));
  return { devices: devices.length > 0 ? devices : undefined, prefix: prefix?.slice(0, -1) };
}

function Plan({ onClose }: { onClose(): void }) {
  const [groups, setGroups] = useState<string[]>([]);
  const devices = useRef<HTMLTextAreaElement>(null); // what the form sends has lost spaces at its ends
  useEffect(() => {
    list<{ group: string }>("/groups", {}).then(
      (page) => setGroups(page.items.map((g) => g.group)),
      () => undefined, // without them the group is typed
    );
  }, []);
  const send = async (d: Record<string, string>) => {
    const body = {
      ...selected(devices.current!.value),
      group: d.group || undefined,
      start: new Date(d.start).toISOString(),
      length: d.length,
      rrule: d.rrule || undefined,
      zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      note: d.note || undefined,
      by: d.by,
    };
    await request("PUT", pathOf(d.name), { body, header: { "If-None-Match": "*" } });
    return `${d.name} is planned`;
  };
  return (
    <Form title="Plan maintenance" submit="Plan" onClose={onClose} send={send}>
      <p>Nobody is told about the incidents of these devices meanwhile.</p>
      <label>
        Name
        <input name="name" required autofocus autocomplete="off" maxLength={128} />
      </label>
      <label>
        Devices, one on each line, or the beginning of their names and *
        <textarea
          name="devices"
          ref={devices}
          rows={3}
          placeholder={"press-7\npress-8\noven *"}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          dir="auto"
        />
      </label>
      <label>
        Group
        <input name="group" list="groups" placeholder="plant-1/hall-3" autocomplete="off" />
        <datalist id="groups">
          {groups.map((g) => (
            <option key={g} value={g} />
          ))}
        </datalist>
      </label>
      <div class="pair">
        <label>
          Start
          <input name="start" type="datetime-local" required defaultValue={toLocalInput(new Date(now.peek()))} />
        </label>
        <Choice label="For" name="length" of={lengths} />
      </div>
      <Choice label="Repeats" name="rrule" of={rules} />
      <Note />
      <YourName required />
    </Form>
  );
}
