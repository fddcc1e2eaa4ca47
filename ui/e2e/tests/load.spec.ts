import { availableParallelism, loadavg } from "node:os";
import type { CDPSession, Page } from "@playwright/test";
import { Board } from "../board.ts";
import { Load } from "../load.ts";
import { expect, test } from "../test.ts";

const devices = 100_000;
const changes = 1000; // a second
const long = process.env.ANDON_LONG === "1";
const seconds = long ? 300 : 15; // that the board is watched
const around = long ? 15 : 5; // that it warms up, and that a page with a single cell is watched
const most = 20; // ms that 95 of 100 frames may take
// Who waited for each core in the last minute, which also has what make test ran before: as many or
// more is a machine that others use.
const crowded = 3;

test.use({ screenshot: "off" });
test.setTimeout(1000 * (600 + 4 * seconds));

test("100,000 devices with 1,000 changes a second", async ({ browser, page, tenant }) => {
  const processes = await browser.newBrowserCDPSession();
  const load = new Load(tenant, devices);
  await load.fill();
  const board = new Board(page, tenant);
  const opened = Date.now();
  await board.open();
  await board.showsCount("NORMAL", devices);
  const filled = Date.now() - opened;

  // What the machine can give while the server and the load are busy, without the board.
  load.start(changes);
  const first = await reference(page);

  await board.open();
  const cdp = await page.context().newCDPSession(page);
  await frames(page, around); // it warms up
  const before = await state(cdp, processes);
  const times = await frames(page, seconds);
  const after = await state(cdp, processes);
  const waiting = (loadavg()[0] ?? 0) / availableParallelism();
  await load.stop();
  const rate = load.rate;

  // Nothing is missing after the storm.
  const counts = await tenant.counts();
  for (const [name, n] of Object.entries(counts)) await board.showsCount(name, n);

  load.start(changes);
  const second = await reference(page);
  await load.stop();

  const report = [
    `${devices} devices shown within ${filled} ms`,
    `${rate.toFixed(0)} changes a second, for ${seconds} s`,
    `frames of the board: ${times}`,
    `of a page with a single cell, before: ${first}`,
    `of a page with a single cell, after: ${second}`,
    `CPU time of the main thread: ${busy(before, after)}`,
    `CPU time of the browser: ${perSecond(before, after, "all").toFixed(0)} ms a second`,
    `the machine: ${availableParallelism()} cores, ${waiting.toFixed(1)} processes for each`,
    `heap: ${mb(before.heap)} before, ${mb(after.heap)} after; nodes: ${before.nodes}, ${after.nodes}`,
  ].join("\n");
  console.log(report);

  // A machine that can't show a single cell in time, or that others use, is no measure of the board.
  const allowed = Math.max(most, 1.5 * first.p95, 1.5 * second.p95);
  if (waiting < crowded) {
    expect.soft(rate, report).toBeGreaterThan(0.9 * changes);
    expect.soft(times.p95, report).toBeLessThan(allowed);
  } else console.log("the rate and the times of frames are not judged: others use this machine");
  // These do not depend on what else runs on the machine.
  expect.soft(perSecond(before, after, "task"), report).toBeLessThan(300);
  expect.soft(perSecond(before, after, "all"), report).toBeLessThan(900);
  expect.soft(after.heap, report).toBeLessThan(1.1 * before.heap + 4e6);
  expect.soft(after.nodes, report).toBeLessThan(1.2 * before.nodes + 1000);
});

/** reference measures a page that does nothing but draw one cell in each frame. */
async function reference(page: Page): Promise<Frames> {
  await page.goto("about:blank");
  await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: 1200, height: 800 });
    document.body.append(canvas);
    const pen = canvas.getContext("2d")!;
    let n = 0;
    const draw = () => {
      pen.fillStyle = n++ % 2 ? "#333333" : "#cccccc";
      pen.fillRect(8 * (n % 150), 8, 6, 6);
      requestAnimationFrame(draw);
    };
    draw();
  });
  return frames(page, around);
}

class Frames {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;

  constructor(private readonly all: number[]) {
    const sorted = all.toSorted((a, b) => a - b);
    const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? NaN;
    this.p50 = at(0.5);
    this.p95 = at(0.95);
    this.p99 = at(0.99);
    this.max = at(1);
  }

  toString(): string {
    const ms = [this.p50, this.p95, this.p99, this.max].map((n) => n.toFixed(1));
    return `p50 ${ms[0]}, p95 ${ms[1]}, p99 ${ms[2]}, longest ${ms[3]} ms of ${this.all.length}`;
  }
}

/** frames measures the times between frames of a page. */
async function frames(page: Page, seconds: number): Promise<Frames> {
  const times = await page.evaluate(
    (ms) =>
      new Promise<number[]>((resolve) => {
        const times: number[] = [];
        const begun = performance.now();
        let last = begun;
        const frame = (now: number) => {
          times.push(now - last);
          last = now;
          if (now - begun < ms) requestAnimationFrame(frame);
          else resolve(times.slice(2));
        };
        requestAnimationFrame(frame);
      }),
    1000 * seconds,
  );
  return new Frames(times);
}

/** State is what a page holds, and what its main thread has done so far, in seconds. */
interface State {
  heap: number;
  nodes: number;
  at: number;
  task: number;
  script: number;
  layout: number;
  style: number;
  all: number; // of all processes of the browser
}

/** state asks once the garbage is collected. */
async function state(cdp: CDPSession, processes: CDPSession): Promise<State> {
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  for (let i = 0; i < 2; i++) await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.getMetrics");
  const { processInfo } = await processes.send("SystemInfo.getProcessInfo");
  const of = (name: string) => metrics.find((m) => m.name === name)?.value ?? NaN;
  return {
    heap: of("JSHeapUsedSize"),
    nodes: of("Nodes"),
    at: Date.now() / 1000,
    task: of("TaskDuration"),
    script: of("ScriptDuration"),
    layout: of("LayoutDuration"),
    style: of("RecalcStyleDuration"),
    all: processInfo.reduce((sum, p) => sum + p.cpuTime, 0),
  };
}

type Work = "task" | "script" | "layout" | "style" | "all";

/** perSecond is how many milliseconds of a second were spent on something. */
function perSecond(before: State, after: State, on: Work): number {
  return (1000 * (after[on] - before[on])) / (after.at - before.at);
}

function busy(before: State, after: State): string {
  const all: Work[] = ["task", "script", "style", "layout"];
  return all.map((on) => `${on} ${perSecond(before, after, on).toFixed(0)}`).join(", ") + " ms a second";
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
