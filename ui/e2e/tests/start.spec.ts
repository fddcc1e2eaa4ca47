import type { CDPSession } from "@playwright/test";
import type { Entry } from "../tenant.ts";
import { expect, test } from "../test.ts";

test.use({ screenshot: "off" });

const second = 1000;
/** An empty page that takes longer is one of a machine that is slow or that others use. */
const quick = 50; // ms

test("the board of a factory is interactive within a second", async ({ page, tenant }) => {
  await tenant.report(...factory());
  await page.addInitScript(() => {
    // By the page's own clock, which begins when the address is entered: asking takes time, too.
    new MutationObserver((_, observer) => {
      const ready = document.documentElement.dataset.live === "live" && document.querySelector("[data-device]");
      if (!ready) return;
      observer.disconnect();
      // After the next frame it has been drawn, and nothing keeps it from answering.
      requestAnimationFrame(() => setTimeout(() => performance.mark("interactive")));
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const empty: number[] = [];
  const times: Load[] = [];
  for (let i = 0; i < 5; i++) {
    await page.goto(tenant.address("/livez"));
    empty.push(await page.evaluate(() => performance.now()));
    const before = await mainThread(cdp);
    await page.goto(tenant.address());
    await page.waitForFunction(() => performance.getEntriesByName("interactive").length > 0);
    times.push({ ...(await page.evaluate(parts)), mainThread: (await mainThread(cdp)) - before });
  }
  times.sort((a, b) => a.interactive - b.interactive);
  const reference = Math.min(...empty);
  const report = [
    `an empty page: ${reference.toFixed(0)} ms`,
    ...times.map((t) => Object.entries(t).map(([what, ms]) => `${what} ${ms.toFixed(0)}`).join(", ")),
  ].join("\n");
  console.log(report);
  // The quickest counts: it is what the board takes, and the rest is what others take.
  const best = times[0]?.interactive ?? NaN;
  expect(best, report).toBeLessThan(second * Math.max(1, reference / quick));
});

/** Load is when the parts of a page were there, in milliseconds after its address was entered. */
type Load = ReturnType<typeof parts> & { mainThread: number };

/** parts runs in the page. */
function parts() {
  const end = (fits: RegExp) =>
    Math.max(
      0,
      ...performance
        .getEntriesByType("resource")
        .filter((e) => fits.test(e.name))
        .map((e) => (e as PerformanceResourceTiming).responseEnd),
    );
  const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? NaN;
  const [page] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return {
    html: page?.responseEnd ?? NaN,
    script: end(/assets\/index.*js/),
    fleet: end(/api\/v1\/fleet/),
    painted: at("first-contentful-paint"),
    interactive: at("interactive"),
  };
}

/** mainThread is how long the page's main thread has worked so far, in milliseconds. */
async function mainThread(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return 1000 * (metrics.find((m) => m.name === "TaskDuration")?.value ?? NaN);
}

/** factory is as many devices as the demo has, one in ten of them in trouble. */
function factory(): Entry[] {
  return Array.from({ length: 1200 }, (_, i) => ({
    device: `press-${i}`,
    state: i % 10 === 0 ? `WARNING${1 + ((i / 10) % 4)}` : "NORMAL",
    operator: "Liz",
  }));
}
