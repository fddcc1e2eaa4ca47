import type { Browser, BrowserContextOptions, Page } from "@playwright/test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Board, deviceAt, stickingOut } from "../board.ts";
import { Day } from "../day.ts";
import { grave } from "../look.ts";
import { Server } from "../server.ts";
import { ago, type Entry, Tenant } from "../tenant.ts";
import { Watch } from "../watch.ts";
import { expect, test } from "../test.ts";

/** Nobody looks at the pictures of continuous integration, and they take half of the time. */
const pictures = process.env.CI !== "true";
const folder = fileURLToPath(new URL("../shots", import.meta.url));

/** What a page is opened in: a window grows on a screen, and a phone is another thing. */
const screens = {
  screen: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true },
} satisfies Record<string, BrowserContextOptions>;

const large = { width: 3840, height: 2160 };

/** On this nothing scrolls to the side (WCAG 1.4.10). */
const narrow = { width: 320, height: 640 };

const themes = ["light", "dark"] as const;

/** What a view shows, and when it shows it. */
interface View {
  path?: (day: Day) => string;
  tenant?: (day: Day) => Tenant;
  /** What is done to the page before it is opened. */
  before?: (page: Page) => Promise<unknown>;
  /** What data-live is once it is open. */
  live?: string;
  shows: (board: Board, day: Day) => Promise<unknown>;
}

const main = (b: Board) => b.page.getByRole("main");

const refusal = (status: number, title: string, detail: string) => ({
  status,
  contentType: "application/problem+json",
  json: { title, status, detail },
});

const views: Record<string, View> = {
  fleet: {
    shows: async (b) => {
      await expect(b.page.locator("[data-incident]").first()).toBeVisible();
      // On a phone the incidents fill the screen, and rows are there once they are scrolled to.
      await b.page.getByRole("table", { name: "Not normal" }).scrollIntoViewIfNeeded();
      await expect(b.rows.nth(3)).toBeVisible();
    },
  },
  device: {
    path: (day) => deviceAt(day.worst),
    shows: async (b) => expect(b.page.getByTestId("chart").first()).toBeVisible(),
  },
  operator: {
    path: (day) => `/operators/${encodeURIComponent(day.operator)}`,
    shows: async (b, day) => expect(main(b)).toContainText(day.operator),
  },
  supervisor: {
    path: (day) => `/supervisors/${encodeURIComponent(day.supervisor)}`,
    shows: async (b, day) => expect(main(b)).toContainText(day.supervisor),
  },
  search: {
    path: () => "/search?state=WARNING*",
    shows: async (b) => expect(main(b)).toContainText("WARNING"),
  },
  wall: {
    path: () => "/wall?show=trouble&every=600",
    shows: async (b) => expect(main(b)).toContainText("WARNING"),
  },
  incidents: {
    path: () => "/incidents",
    shows: async (b) => expect(b.page.locator("[data-incident]").nth(3)).toBeVisible(),
  },
  incident: {
    path: (day) => `/incidents/${day.incident}`,
    shows: async (b) => expect(b.page.getByRole("table", { name: "Steps" })).toBeVisible(),
  },
  "on-call": {
    path: () => "/on-call",
    shows: async (b) => expect(b.page.locator("[data-schedule]").first()).toBeVisible(),
  },
  maintenance: {
    path: () => "/maintenance",
    shows: async (b) => expect(b.page.locator("[data-window]").first()).toBeVisible(),
  },
  reports: {
    path: () => "/reports?per=device",
    shows: async (b) => expect(b.page.getByTestId("chart").first().locator("canvas")).toBeVisible(),
  },
  rules: {
    path: () => "/rules",
    shows: async (b) => expect(b.page.locator("[data-rule]").first()).toBeVisible(),
  },
  "wall-map": {
    path: () => "/wall?show=map",
    shows: async (b) => expect(main(b)).toHaveAttribute("data-scene", "map"),
  },
  help: {
    shows: async (b) => {
      await b.page.keyboard.press("?");
      await expect(b.page.getByRole("dialog")).toBeVisible();
    },
  },
  empty: {
    tenant: (day) => day.empty,
    shows: async (b) => expect(main(b)).toContainText("No device has reported yet"),
  },
  loading: {
    before: (page) => page.route(/\/api\/v1\/(fleet|states)/, () => {}), // it never answers
    live: "loading",
    shows: async (b) => expect(main(b)).toBeVisible(),
  },
  polled: {
    before: (page) =>
      page.route(/\/api\/v1\/(fleet|events\/stream)(\?|$)/, (route) =>
        route.fulfill(refusal(501, "Not Implemented", "this store has no feed")),
      ),
    live: "polling",
    shows: async (b) => expect(b.map).toBeVisible(),
  },
  error: {
    path: (day) => deviceAt(day.worst),
    before: (page) =>
      page.route(/\/api\/v1\/devices\//, (route) =>
        route.fulfill(refusal(503, "Service Unavailable", "the store is not available")),
      ),
    live: "",
    shows: async (b) => expect(main(b)).toContainText("the store is not available"),
  },
  unknown: {
    path: () => deviceAt("no-such-device"),
    shows: async (b) => expect(main(b)).toContainText("No device of this name has reported"),
  },
};

// In order, by one worker: there is one factory.
test.describe.configure({ mode: "default" });

let day: Day;

test.beforeAll(async () => {
  test.setTimeout(300_000);
  await mkdir(folder, { recursive: true });
  day = await Day.begin();
});

test.beforeEach(async () => day.look());

test.afterAll(async () => day?.server.close());

for (const [name, view] of Object.entries(views)) {
  test(`${name}, in both themes at three sizes`, async ({ browser }) => {
    await onEachScreen(browser, name, async (page) => {
      const tenant = view.tenant?.(day) ?? day.factory;
      const board = new Board(page, tenant);
      await view.before?.(page);
      await page.goto(tenant.address(view.path?.(day)));
      if (view.live !== "") {
        await expect(page.locator("html")).toHaveAttribute("data-live", view.live ?? "live");
      }
      await view.shows(board, day);
    });
  });
}

test("sign-in, in both themes at three sizes", async ({ browser }) => {
  const dir = await mkdtemp(join(tmpdir(), "andon-token-"));
  const file = join(dir, "token");
  await writeFile(file, "a-token-of-32-characters-or-more-0123456789", { mode: 0o600 });
  const locked = await Server.serve("--token-file", file);
  try {
    await onEachScreen(browser, "sign-in", async (page) => {
      await page.goto(locked.url);
      await expect(page.getByLabel("Token")).toBeVisible();
    });
  } finally {
    await locked.close();
    await rm(dir, { recursive: true });
  }
});

test("offline, in both themes at three sizes", async ({ browser }) => {
  const server = await Server.serve();
  try {
    const plant = new Tenant(server, "default");
    await plant.report(...troubles());
    for (const [name, path] of Object.entries({ offline: "/", "offline-wall": "/wall" })) {
      await onEachScreen(browser, name, async (page) => {
        const board = new Board(page, plant);
        await board.open(path);
        await expect(board.rows.first()).toBeVisible();
        await server.kill();
        await expect(board.lost).toBeVisible();
        return () => server.again();
      });
    }
  } finally {
    await server.close();
  }
});

/** troubles are what a small plant reports. */
function troubles(): Entry[] {
  return Array.from({ length: 90 }, (_, i) => ({
    device: `press-${i + 1}`,
    state: i % 7 === 0 ? `WARNING${1 + ((i / 7) % 4)}` : "NORMAL",
    time: ago(20 + ((i * 97) % 800)),
    operator: i % 3 === 0 ? "Liz" : "Tom",
    message: i % 7 === 0 ? "a reading left its limits" : "",
  }));
}

/**
 * onEachScreen opens a view on a screen and on a phone, and looks at it in both themes. What visit
 * returns is done at the end.
 */
async function onEachScreen(
  browser: Browser,
  name: string,
  visit: (page: Page) => Promise<(() => Promise<void>) | void>,
): Promise<void> {
  for (const [screen, options] of Object.entries(screens)) {
    const context = await browser.newContext({ ...options, reducedMotion: "reduce" });
    const watch = new Watch();
    await watch.over(context);
    const page = await context.newPage();
    const end = await visit(page);
    // Colours are the same at each size, so axe looks at both themes on the screen only.
    if (screen === "phone") {
      await inThemes(page, `${name}-phone`, ["light"]);
      await page.setViewportSize(narrow);
      const out = () => stickingOut(page);
      await expect.soft.poll(out, `${name}: nothing sticks out of 320 pixels`).toEqual([]);
    } else {
      await inThemes(page, `${name}-laptop`, themes);
      await page.setViewportSize(large);
      await inThemes(page, `${name}-4k`, []);
    }
    await context.close();
    await end?.();
    expect(watch.take()).toEqual([]);
  }
}

/** inThemes checks what a machine can see of a view in each theme, and takes a picture of it. */
async function inThemes(
  page: Page,
  name: string,
  axeIn: readonly string[],
): Promise<void> {
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    await drawn(page);
    if (pictures) {
      const path = join(folder, `${name}-${theme}.png`);
      await page.screenshot({ path, animations: "disabled" });
    }
    expect.soft(await stickingOut(page), `${name}: nothing sticks out to the side`).toEqual([]);
    if (axeIn.includes(theme)) await accessible(page, `${name}-${theme}`);
  }
}

/** drawn waits until what a change led to is drawn: canvases follow in the next frames. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let i = 0; i < 4; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
}

async function accessible(page: Page, name: string): Promise<void> {
  expect.soft(await grave(page), `${name}: axe finds nothing serious`).toEqual([]);
}
