import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { inkOn, mix } from "../model/states";
import { pan, runAt, stretches, ticks, zoom, type Window } from "../model/strip";
import { clockTime, duration, moment, zoneName } from "../model/time";
import { queryOfRange, queryOfWindow, ranges, shownOf } from "../model/window";
import { now } from "../state/clock";
import type { DeviceModel, Past } from "../state/device";
import { dark } from "../state/prefs";
import { query, setQuery } from "../state/route";
import { lookOf } from "./device";
import { useViewKeys } from "./keys";
import { Panel } from "./parts";

/** The sizes of what is drawn, in pixels: they follow the size of the text, which a television has larger. */
export interface Sizes {
  left: number; // where the axis of time begins: the strip and all charts share it
  right: number; // and how far from the right it ends
  bar: number;
  axis: number;
  chart: number;
  font: string;
  big: number;
}

export function sizes(): Sizes {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return {
    left: 3.5 * rem, right: 0.75 * rem, bar: Math.round(3.5 * rem), axis: Math.round(1.4 * rem),
    chart: Math.round(7.5 * rem), font: `${0.75 * rem}px system-ui, sans-serif`, big: 0.95 * rem,
  };
}

/** Shows a part of the axis; at most a few times a second, since each step asks the server. */
export function showWindow(w: Window): void {
  setQuery(queryOfWindow(w));
}

/** What a device was, over time. */
export function StripPanel({ model, past }: { model: DeviceModel; past: Past }) {
  const shown = shownOf(query.value, past.window.to, model.usual.value);
  const [draft, setDraft] = useState<Window>(); // while it is dragged
  const window = draft ?? (shown.range ? past.window : shown.window);
  const change = useSettled(setDraft);
  const at = now.peek();
  const keys = useMemo(() => {
    const near = () => shownOf(query.peek(), now.peek(), model.usual.peek()).window;
    const middle = (w: Window) => (w.from + w.to) / 2;
    return [
      { key: "+", does: "Nearer", run: () => showWindow(zoom(near(), 0.5, middle(near()), now.peek())) },
      { key: "-", does: "Further", run: () => showWindow(zoom(near(), 2, middle(near()), now.peek())) },
      { key: "h", does: "Earlier", run: () => showWindow(pan(near(), -0.5, now.peek())) },
      { key: "l", does: "Later", run: () => showWindow(pan(near(), 0.5, now.peek())) },
      { key: "n", does: "Up to now", run: () => setQuery({ range: undefined, from: undefined, to: undefined }) },
    ];
  }, []);
  useViewKeys(keys);
  return (
    <Panel
      title="States over time"
      class="over-time"
      aside={
        <div class="window-tools" role="group" aria-label="Part of time">
          {ranges.map((r) => (
            <button type="button" key={r} aria-pressed={shown.range === r} onClick={() => setQuery(queryOfRange(r))}>
              {r}
            </button>
          ))}
          <button type="button" aria-label="Earlier" title="Earlier (h)" onClick={() => showWindow(pan(window, -0.5, at))}>
            ◂
          </button>
          <button type="button" aria-label="Later" title="Later (l)" onClick={() => showWindow(pan(window, 0.5, at))}>
            ▸
          </button>
          <button type="button" aria-label="Nearer" title="Nearer (+)" onClick={() => keys[0].run()}>
            +
          </button>
          <button type="button" aria-label="Further" title="Further (-)" onClick={() => keys[1].run()}>
            −
          </button>
        </div>
      }
    >
      <Strip model={model} past={past} window={window} change={change} />
    </Panel>
  );
}

function spanText(w: Window): string {
  const today = new Date(now.peek());
  return `${moment(new Date(w.from), today)} to ${moment(new Date(w.to), today)}`;
}

/** Shows a draft at once, and makes it the address when the hand rests. */
function useSettled(setDraft: (w: Window | undefined) => void): (w: Window) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  return (w) => {
    setDraft(w);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      showWindow(w);
      setDraft(undefined);
    }, 250);
  };
}

interface StripProps {
  model: DeviceModel;
  past: Past;
  window: Window;
  change(w: Window): void;
}

function Strip({ model, past, window: w, change }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const hover = useSignal<number | undefined>(undefined);
  const drag = useRef<{ x: number; from: Window } | undefined>(undefined);
  useEffect(() => {
    if (width > 0) drawStrip(canvas.current!, width, model, past, w);
  }, [width, past, w.from, w.to, dark.value]);
  const { left, right } = sizes();
  const inner = Math.max(1, width - left - right);
  const timeAt = (x: number) => w.from + ((x - left) / inner) * (w.to - w.from);
  const onWheel = (e: WheelEvent) => {
    const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
    if (!e.ctrlKey && !e.metaKey && !sideways) return; // the page scrolls
    e.preventDefault();
    if (sideways) change(pan(w, e.deltaX / inner, now.peek()));
    else change(zoom(w, 1.002 ** e.deltaY, timeAt(e.offsetX), now.peek()));
  };
  const latest = useRef(onWheel);
  latest.current = onWheel;
  useEffect(() => {
    const listen = (e: WheelEvent) => latest.current(e);
    canvas.current!.addEventListener("wheel", listen, { passive: false });
  }, []);
  const onMove = (e: PointerEvent) => {
    hover.value = timeAt(e.offsetX);
    if (drag.current) {
      const moved = (drag.current.x - e.clientX) / inner;
      change(pan(drag.current.from, moved, now.peek()));
    }
  };
  return (
    <div class="strip" data-testid="strip" data-gaps={past.gaps.length}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`States of ${model.id}, ${spanText(w)}: ${past.runs.length} runs, ${past.gaps.length} silences`}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          drag.current = { x: e.clientX, from: w };
        }}
        onPointerUp={() => (drag.current = undefined)}
        onPointerCancel={() => (drag.current = undefined)}
        onPointerMove={onMove}
        onPointerLeave={() => (hover.value = undefined)}
        onDblClick={(e) => change(zoom(w, 0.4, timeAt(e.offsetX), now.peek()))}
      />
      <p class="quiet axis-note">
        {hover.value !== undefined ? (
          <output>{textAt(past, hover.value)}</output>
        ) : (
          <>
            {spanText(w)} · {zoneName(new Date(w.to))}
            {past.cut && ` · silences are known for the newest ${past.entries.length} entries`}
          </>
        )}
      </p>
    </div>
  );
}

function textAt(past: Past, at: number): string {
  if (past.gaps.some((g) => g.from <= at && at < g.to)) return `${clockTime(new Date(at))} silent`;
  const run = runAt(past.runs, at);
  const today = new Date(now.peek());
  if (!run) return clockTime(new Date(at));
  const length = duration((Math.min(run.to, now.peek()) - run.from) / 1000);
  return `${clockTime(new Date(at))} ${run.state}, from ${moment(new Date(run.from), today)} for ${length}`;
}

/** The width of an element, as it changes. */
export function useWidth(ref: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const parent = ref.current!.parentElement!;
    const observer = new ResizeObserver(() => setWidth(parent.clientWidth));
    observer.observe(parent);
    return () => observer.disconnect();
  }, []);
  return width;
}

function drawStrip(canvas: HTMLCanvasElement, width: number, model: DeviceModel, past: Past, w: Window): void {
  const scale = devicePixelRatio || 1;
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(name).trim();
  const size = sizes();
  const { left, bar } = size;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round((bar + size.axis) * scale);
  canvas.style.height = `${bar + size.axis}px`;
  const c = canvas.getContext("2d")!;
  c.scale(scale, scale);
  const inner = Math.floor(width - left - size.right);
  const x = (t: number) => left + ((t - w.from) / (w.to - w.from)) * inner;
  c.fillStyle = colour("--sunken");
  c.fillRect(left, 0, inner, bar);
  for (const s of stretches(past.runs, w, inner)) {
    const def = lookOf(model, s.state);
    const well = def.severity === 0;
    const fill = well ? mix(def.colour, colour("--surface"), 0.55) : def.colour;
    const height = well ? bar * 0.45 : bar * Math.min(1, 0.6 + def.severity / 200);
    c.fillStyle = fill;
    c.fillRect(left + s.x, bar - height, s.width, height);
    if (s.width >= 1.8 * size.big && !well) {
      c.fillStyle = inkOn(def.colour);
      c.font = `700 ${size.big}px system-ui, sans-serif`;
      c.fillText(`${def.symbol} ${def.letter}`, left + s.x + 5, bar - size.big * 0.7, s.width - 8);
    }
  }
  for (const g of past.gaps) {
    drawGap(c, Math.max(x(g.from), left), Math.min(x(g.to), left + inner), bar, colour);
  }
  drawAxis(c, w, x, inner, size, colour);
}

/** A silence: what the device was in it is not known. */
function drawGap(
  c: CanvasRenderingContext2D,
  from: number,
  to: number,
  bar: number,
  colour: (n: string) => string,
): void {
  if (to - from < 1) return;
  c.save();
  c.beginPath();
  c.rect(from, 0, to - from, bar);
  c.clip();
  c.fillStyle = colour("--surface");
  c.globalAlpha = 0.78;
  c.fillRect(from, 0, to - from, bar);
  c.globalAlpha = 1;
  c.strokeStyle = colour("--muted");
  c.lineWidth = 1;
  c.beginPath();
  for (let at = from - bar; at < to; at += 8) {
    c.moveTo(at, bar);
    c.lineTo(at + bar, 0);
  }
  c.stroke();
  c.restore();
}

function drawAxis(
  c: CanvasRenderingContext2D,
  w: Window,
  x: (t: number) => number,
  inner: number,
  size: Sizes,
  colour: (n: string) => string,
): void {
  c.fillStyle = colour("--muted");
  c.strokeStyle = colour("--line");
  c.font = size.font;
  c.textAlign = "center";
  for (const { at, step } of ticks(w, Math.max(2, Math.floor(inner / (1.6 * size.left))))) {
    const px = Math.round(x(at)) + 0.5;
    c.beginPath();
    c.moveTo(px, 0);
    c.lineTo(px, size.bar + 4);
    c.stroke();
    const label = tickText(new Date(at), step);
    const half = c.measureText(label).width / 2;
    c.fillText(label, Math.min(px, size.left + inner + size.right - half), size.bar + size.axis * 0.8);
  }
}

export function tickText(at: Date, step: number): string {
  const [day, month] = [at.getDate(), at.toLocaleString("en", { month: "short" })];
  if (step >= 86_400_000 || (at.getHours() === 0 && at.getMinutes() === 0)) return `${day} ${month}`;
  return step < 60_000 ? clockTime(at) : clockTime(at).slice(0, 5);
}
