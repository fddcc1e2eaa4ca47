import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { shortNumber, type Series } from "../model/readings";
import { ticks, type Window } from "../model/strip";
import { dark } from "../state/prefs";
import { showWindow, sizes, useWidth } from "./strip";

export { Bars } from "./bars";

/** A chart for each metric, on one axis of time. */
export function Charts({ series, window }: { series: Series[]; window: Window }) {
  const [shown, setShown] = useState(12);
  return (
    <div class="charts">
      {series.slice(0, shown).map((s) => (
        <Chart key={s.metric} series={s} window={window} />
      ))}
      {series.length > shown && (
        <button type="button" class="more" onClick={() => setShown(series.length)}>
          {series.length - shown} more metrics
        </button>
      )}
    </div>
  );
}

function Chart({ series, window: w }: { series: Series; window: Window }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const width = useWidth(box);
  const [value, setValue] = useState<number | null>();
  const latest = useRef(series);
  latest.current = series;
  const axis = useRef(w);
  axis.current = w;
  useEffect(() => {
    if (width === 0) return;
    const made = new uPlot(options(width, axis, setValue), data(latest.current), box.current!);
    plot.current = made;
    return () => made.destroy();
  }, [width === 0, dark.value]);
  useEffect(() => plot.current?.setSize({ width, height: sizes().chart }), [width]);
  useEffect(() => {
    plot.current?.setData(data(series), false);
    plot.current?.setScale("x", { min: w.from / 1000, max: w.to / 1000 });
  }, [series, w.from, w.to]);
  const told = value === undefined ? series.latest : value;
  return (
    <figure class="chart" data-testid="chart">
      <figcaption>
        <bdi>{series.metric}</bdi>
        <b>{told == null ? "–" : shortNumber(told)}</b>
      </figcaption>
      <div
        class="plot"
        ref={box}
        role="img"
        aria-label={`${series.metric}: ${series.times.length} values, the newest ${series.latest}`}
      />
    </figure>
  );
}

const data = (s: Series): uPlot.AlignedData => [s.times, s.values];

function options(
  width: number,
  axis: { current: Window },
  tell: (value: number | null | undefined) => void,
): uPlot.Options {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(name).trim();
  const size = sizes();
  const grid = { stroke: colour("--line"), width: 1 };
  return {
    width,
    height: size.chart,
    padding: [8, size.right, 4, 0],
    legend: { show: false },
    cursor: {
      sync: { key: "device", scales: ["x", null] },
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
    },
    scales: {
      x: { time: true, range: () => [axis.current.from / 1000, axis.current.to / 1000] },
    },
    axes: [
      {
        size: 4,
        grid,
        ticks: { show: false },
        splits: () => ticks(axis.current, Math.max(2, Math.floor(width / (1.6 * size.left)))).map((t) => t.at / 1000),
        values: (_, splits) => splits.map(() => ""),
      },
      {
        size: size.left,
        grid,
        stroke: colour("--muted"),
        font: size.font,
        ticks: { show: false },
        space: size.left * 0.6,
        values: (_, splits) => splits.map(shortNumber),
      },
    ],
    series: [
      {},
      {
        stroke: colour("--accent"),
        width: 1.5,
        points: { size: 4, fill: colour("--accent") },
        spanGaps: false,
      },
    ],
    hooks: {
      setCursor: [(u) => tell(u.cursor.idx == null ? undefined : (u.data[1][u.cursor.idx] as number | null))],
      setSelect: [(u) => select(u)],
    },
  };
}

/** What was dragged over becomes the part of time that all show. */
function select(u: uPlot): void {
  if (u.select.width < 8) return;
  const [from, to] = [u.select.left, u.select.left + u.select.width].map((x) => u.posToVal(x, "x") * 1000);
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  showWindow({ from: Math.round(from), to: Math.round(to) });
}
