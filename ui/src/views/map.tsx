import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { devicePath } from "../model/address";
import { hit, step } from "../model/cells";
import { duration } from "../model/time";
import { now } from "../state/clock";
import { alarms, fleet, version } from "../state/live";
import { dark, reducedMotion } from "../state/prefs";
import { go, link } from "../state/route";
import { countText } from "./parts";
import { Painter } from "./painter";

const style = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Every device as a cell. */
export function FleetMap({ tall = false }: { tall?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | undefined>(undefined);
  const at = useSignal(-1); // the cell under the pointer or the keyboard

  const fit = () => {
    const place = box.current;
    if (!place || place.clientWidth === 0) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const look = {
      surface: style("--surface"), ink: style("--text"), still: reducedMotion.matches, largest: 2.6 * rem,
    };
    painter.current?.fit(place.clientWidth, roomFor(place, tall), look);
  };
  useEffect(() => {
    painter.current = new Painter(fleet, cells.current!, overlay.current!);
    const observer = new ResizeObserver(fit);
    observer.observe(box.current!);
    addEventListener("resize", fit);
    return () => {
      observer.disconnect();
      removeEventListener("resize", fit);
      painter.current!.stop();
    };
  }, []);
  useSignalEffect(() => {
    dark.value;
    requestAnimationFrame(fit);
  });
  useSignalEffect(() => {
    version.value;
    if (painter.current?.outgrown) fit();
    else painter.current?.request();
  });
  useSignalEffect(() => {
    painter.current?.mark(alarms.value.map((a) => ({ cell: a.cell, at: a.at, colour: a.state.colour })));
  });
  useSignalEffect(() => painter.current?.select(at.value));

  const cellUnder = (e: MouseEvent) => {
    const canvas = overlay.current!;
    const scale = canvas.width / canvas.clientWidth;
    const cell = hit(painter.current!.grid, fleet.ids.length, e.offsetX * scale, e.offsetY * scale);
    return fleet.shows(cell) && cell >= 0 ? cell : -1;
  };
  const open = (cell: number) => {
    if (cell >= 0) go(link(devicePath(fleet.ids[cell])));
  };
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === "Enter") return open(at.value);
    if (e.key === "Escape") at.value = -1;
    const to = step(painter.current!.grid, fleet.ids.length, Math.max(at.value, 0), e.key);
    if (to === undefined) return;
    e.preventDefault();
    at.value = at.value < 0 ? 0 : to;
  };
  return (
    <section class="map" id="map" aria-label="Map" data-testid="map">
      <h2>
        All devices <Total />
        <CellText cell={at.value} />
      </h2>
      <div class="canvases" ref={box}>
        <canvas ref={cells} aria-hidden="true" />
        <canvas
          ref={overlay}
          tabIndex={tall ? -1 : 0}
          role="application"
          aria-label="Map of all devices"
          aria-describedby="map-cell"
          onMouseMove={(e) => (at.value = cellUnder(e))}
          onMouseLeave={() => (at.value = -1)}
          onBlur={() => (at.value = -1)}
          onClick={(e) => open(cellUnder(e))}
          onKeyDown={onKeyDown}
        />
      </div>
    </section>
  );
}

/** The height that is left for the map below where it begins; on a phone it has its own. */
function roomFor(place: HTMLElement, tall: boolean): number {
  if (!tall && matchMedia("(max-width: 52rem)").matches) return Math.max(innerHeight * 0.22, 140);
  if (tall) return place.closest(".scene")!.clientHeight - 2 * place.offsetTop;
  const top = place.getBoundingClientRect().top + scrollY;
  return Math.max(innerHeight - Math.min(top, innerHeight * 0.5) - 32, 220);
}

function Total() {
  version.value;
  return <span class="total">{countText(fleet.size)}</span>;
}

function CellText({ cell }: { cell: number }) {
  version.value;
  const shown = cell >= 0 && fleet.shows(cell);
  return (
    <output id="map-cell" class="cell-text" data-testid="cell">
      {shown && (
        <>
          <bdi>{fleet.ids[cell]}</bdi> <b>{fleet.states[fleet.state[cell]].name}</b>{" "}
          {duration(now.value / 1000 - fleet.since[cell])}
          {fleet.silent[cell] === 1 && " · silent"}
        </>
      )}
    </output>
  );
}
