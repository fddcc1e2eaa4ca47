import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { shortNumber } from "../model/readings";
import { barName, type Bins } from "../model/report";
import { dark } from "../state/prefs";
import { sizes, useWidth } from "./strip";

/** A bar for each hour or day. */
export function Bars({ title, bins, values }: { title: string; bins: Bins; values: number[] }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  useEffect(() => {
    if (width === 0) return;
    const made = new uPlot(options(width, bins), [bins.times, values], box.current!);
    return () => made.destroy();
  }, [width, dark.value, bins, values]);
  const sum = values.reduce((a, b) => a + b, 0);
  const most = Math.max(...values);
  return (
    <figure class="chart" data-testid="chart">
      <figcaption>
        {title} <b>{shortNumber(sum)}</b>
      </figcaption>
      <div
        class="plot"
        ref={box}
        role="img"
        aria-label={`${title}: ${values.length} bars, ${shortNumber(sum)} in all, the highest ${shortNumber(most)}`}
      />
    </figure>
  );
}

const barSeconds = { hour: 3600, day: 86_400 };

/** How many times as high as the chart of a reading: these have their times below them. */
const higher = 1.6;

function options(width: number, bins: Bins): uPlot.Options {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(name).trim();
  const size = sizes();
  const axis = {
    grid: { stroke: colour("--line"), width: 1 },
    stroke: colour("--muted"),
    font: size.font,
    ticks: { show: false },
  };
  const every = Math.ceil((bins.times.length * size.left * 1.5) / width); // bars for each name
  return {
    width,
    height: size.chart * higher,
    padding: [8, size.right, 4, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: () => [bins.times[0], bins.times[bins.times.length - 1] + barSeconds[bins.step]] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        size: size.left * 0.6,
        splits: () => bins.times.filter((_, i) => i % every === 0),
        values: (_, splits) => splits.map((t) => barName(bins.step, new Date(t * 1000))),
      },
      { ...axis, size: size.left, space: size.left * 0.6, values: (_, splits) => splits.map(shortNumber) },
    ],
    series: [
      {},
      { fill: colour("--accent"), points: { show: false }, paths: uPlot.paths.bars!({ size: [0.8, 60], align: 1 }) },
    ],
  };
}
