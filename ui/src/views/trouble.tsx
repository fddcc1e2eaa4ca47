import { useEffect, useMemo } from "preact/hooks";
import { devicePath } from "../model/address";
import { moment } from "../model/time";
import { now } from "../state/clock";
import { want } from "../state/details";
import { alarms, fleet, isNew, version } from "../state/live";
import { go, link } from "../state/route";
import { useViewKeys, type Key } from "./keys";
import { Age, Ahead, countText, EscalationText, InMaintenance, OperatorLink, Sign, stateColours, SupervisorLink } from "./parts";
import { useSeenRows } from "./rows";

/** All that is not normal: severest first, then longest. */
export function TroubleList() {
  version.value;
  const count = fleet.trouble.size;
  const { ref, seen } = useSeenRows(count);
  const cells = fleet.trouble.slice(seen.from, seen.to);
  const keys = useMemo(() => rowKeys(ref), []);
  useViewKeys(keys);
  useEffect(() => want(cells), [version.value, seen.from, seen.to]);
  return (
    <section class="trouble" aria-label="Trouble">
      <h2>
        Not normal <span class="total">{countText(count)}</span>
        {!fleet.partial && (
          <a class="to-map" href="#map">
            Map
          </a>
        )}
        <Fresh />
      </h2>
      {count === 0 ? (
        <AllNormal />
      ) : (
        <div role="table" aria-label="Not normal" aria-rowcount={count + 1}>
          <Heads />
          <div
            ref={ref}
            class="rows"
            role="rowgroup"
            style={{ height: `${count * seen.height}px`, paddingTop: `${seen.from * seen.height}px` }}
            onKeyDown={(e) => onArrow(e, keys)}
          >
            {cells.map((cell, i) => (
              <Row key={fleet.ids[cell]} cell={cell} row={seen.from + i} />
            ))}
          </div>
        </div>
      )}
      {fleet.partial && count >= 1000 && <p class="quiet">1,000 of them are shown so far.</p>}
    </section>
  );
}

/** How many of the new ones are named next to the heading. */
const mostFresh = 4;

/** What is new, by name: in a long list it is far below, after all that is older. */
function Fresh() {
  const fresh = alarms.value;
  if (fresh.length === 0) return null;
  return (
    <span class="fresh">
      <span class="word">new</span>
      {fresh.slice(0, mostFresh).map((a) => (
        <a key={a.device} href={link(devicePath(a.device))}>
          <Sign def={a.state} /> <bdi>{a.device}</bdi>
        </a>
      ))}
      {fresh.length > mostFresh && <span class="word">+{fresh.length - mostFresh}</span>}
    </span>
  );
}

function AllNormal() {
  return (
    <div class="all-normal" role="status">
      <span class="mark" aria-hidden="true">
        ●
      </span>
      <p>All devices are normal.</p>
    </div>
  );
}

function Heads() {
  return (
    <div role="rowgroup" class="heads">
      <div role="row" aria-rowindex={1}>
        {["State", "Device", "For", "Operator", "Escalated to", "Message"].map((text) => (
          <span role="columnheader" key={text}>
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}

function Row({ cell, row }: { cell: number; row: number }) {
  version.value;
  alarms.value; // what is new stops being new
  const id = fleet.ids[cell];
  const def = fleet.states[fleet.state[cell]];
  const detail = fleet.details.get(cell);
  const silent = fleet.silent[cell] === 1;
  const open = (e: MouseEvent) => {
    if (!(e.target as Element).closest("a") && !getSelection()?.toString()) go(link(devicePath(id)));
  };
  return (
    <div
      role="row"
      class={`row ${isNew(id) ? "new" : ""} ${silent ? "silent" : ""}`}
      aria-rowindex={row + 2}
      data-device={id}
      data-state={def.name}
      data-row={row}
      style={stateColours(def)}
      onClick={open}
    >
      <span role="cell" class="c-state">
        <Sign def={def} />
        <span class="sr">{def.name}</span>
      </span>
      <span role="cell" class="c-device">
        <a class="id" href={link(devicePath(id))}>
          <bdi>{id}</bdi>
        </a>
        {silent && (
          <span class="tag" title={detail?.heard && `last heard ${moment(new Date(detail.heard), new Date(now.peek()))}`}>
            silent
          </span>
        )}
        <InMaintenance by={detail?.maintenance} />
        <Ahead time={detail?.time} />
      </span>
      <span role="cell" class="c-age">
        <Age since={fleet.since[cell] * 1000} />
      </span>
      <span role="cell" class="c-operator" data-testid="operator">
        {detail ? <OperatorLink name={detail.operator} /> : "…"}
      </span>
      <span role="cell" class="c-supervisor" data-testid="escalated">
        {detail?.escalatedTo && (
          <span class="arrow" aria-hidden="true">
            ↑
          </span>
        )}
        <SupervisorLink name={detail?.escalatedTo} />
      </span>
      <span role="cell" class="c-message">
        {detail?.escalation && <EscalationText of={detail.escalation} />}
        <span class="message" dir="auto" title={detail?.message}>
          {detail?.message}
        </span>
      </span>
    </div>
  );
}

type List = { current: HTMLDivElement | null };

function rowKeys(list: List): Key[] {
  return [
    { key: "j", does: "Next device that is not normal", run: () => move(list, +1) },
    { key: "k", does: "Previous one", run: () => move(list, -1) },
  ];
}

function onArrow(event: KeyboardEvent, [next, previous]: Key[]): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  (event.key === "ArrowDown" ? next : previous).run();
}

/** Moves the focus by rows; the row may not be in the document before the page has scrolled. */
function move(list: List, by: number): void {
  const rows = list.current;
  if (!rows) return;
  const here = document.activeElement?.closest<HTMLElement>("[data-row]");
  const row = Math.max(0, Math.min(fleet.trouble.size - 1, here ? Number(here.dataset.row) + by : 0));
  const height = rows.getBoundingClientRect().height / Math.max(1, fleet.trouble.size);
  const top = rows.getBoundingClientRect().top + row * height;
  const [upper, lower] = [innerHeight * 0.15, innerHeight * 0.9 - height];
  if (top < upper) scrollBy(0, top - upper);
  else if (top > lower) scrollBy(0, top - lower);
  const focus = (tries: number) => {
    const link = rows.querySelector<HTMLElement>(`[data-row="${row}"] a.id`);
    if (link) link.focus({ preventScroll: true });
    else if (tries > 0) requestAnimationFrame(() => focus(tries - 1));
  };
  focus(10);
}
