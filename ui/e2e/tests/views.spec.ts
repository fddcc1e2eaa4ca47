import type { Browser, BrowserContextOptions, Page } from "@playwright/test";
import axe from "axe-core";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Board, deviceAt, stickingOut } from "../board.ts";
import { Day } from "../day.ts";
import { Server } from "../server.ts";
import { ago, type Entry, Tenant } from "../tenant.ts";
import { Watch } from "../watch.ts";
import { expect, test } from "../test.ts";

const folder = fileURLToPath(new URL("../shots", import.meta.url));

const sizes = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true },
  laptop: { viewport: { width: 1440, height: 900 } },
  "4k": { viewport: { width: 3840, height: 2160 } },
} satisfies Record<string, BrowserContextOptions>;

const themes = ["light", "dark"] as const;

/** What a view shows, and when it shows it. */
interface View {
  path: (day: Day) => string;
  shows: (board: Board, day: Day) => Promise<void>;
}

const main = (b: Board) => b.page.getByRole("main");

const views: Record<string, View> = {
  fleet: {
    path: () => "/",
    shows: async (b) => expect(b.rows.nth(3)).toBeVisible(),
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
    path: () => "/wall",
    shows: async (b) => expect(main(b)).toContainText("WARNING"),
  },
  help: {
    path: () => "/",
    shows: async (b) => {
      await b.page.keyboard.press("?");
      await expect(b.page.getByRole("dialog")).toBeVisible();
    },
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

for (const theme of themes) {
  for (const [size, look] of Object.entries(sizes)) {
    const options = { ...look, colorScheme: theme };

    for (const [name, view] of Object.entries(views)) {
      test(`${name}, ${theme}, ${size}`, async ({ browser }) => {
        await inPage(browser, options, async (page) => {
          const board = new Board(page, day.factory);
          await board.open(view.path(day));
          await view.shows(board, day);
          await looksRight(page, `${name}-${theme}-${size}`);
        });
      });
    }

    test(`empty, ${theme}, ${size}`, async ({ browser }) => {
      await inPage(browser, options, async (page) => {
        const board = new Board(page, day.empty);
        await board.open();
        await looksRight(page, `empty-${theme}-${size}`);
      });
    });

    test(`loading, ${theme}, ${size}`, async ({ browser }) => {
      await inPage(browser, options, async (page) => {
        const board = new Board(page, day.factory);
        await page.route(/\/api\/v1\/(fleet|states)/, () => {}); // it never answers
        await page.goto(day.factory.address());
        await expect(page.locator("html")).toHaveAttribute("data-live", "loading");
        await expect(main(board)).toBeVisible();
        await looksRight(page, `loading-${theme}-${size}`);
      });
    });

    test(`error, ${theme}, ${size}`, async ({ browser }) => {
      await inPage(browser, options, async (page) => {
        const board = new Board(page, day.factory);
        const detail = "the store is not available";
        await page.route(/\/api\/v1\/devices\//, (route) =>
          route.fulfill({
            status: 503,
            contentType: "application/problem+json",
            json: { title: "Service Unavailable", status: 503, detail },
          }),
        );
        await page.goto(day.factory.address(deviceAt(day.worst)));
        await expect(main(board)).toContainText(detail);
        await looksRight(page, `error-${theme}-${size}`);
      });
    });

    test(`unknown device, ${theme}, ${size}`, async ({ browser }) => {
      await inPage(browser, options, async (page) => {
        const board = new Board(page, day.factory);
        await board.open(deviceAt("no-such-device"));
        await expect(main(board)).toContainText("no-such-device");
        await looksRight(page, `unknown-${theme}-${size}`);
      });
    });
  }
}

test("sign-in, in both themes at three sizes", async ({ browser }) => {
  const dir = await mkdtemp(join(tmpdir(), "andon-token-"));
  const file = join(dir, "token");
  await writeFile(file, "a-token-of-32-characters-or-more-0123456789", { mode: 0o600 });
  const locked = await Server.serve("--token-file", file);
  try {
    await eachLook(browser, async (page, look) => {
      await page.goto(locked.url);
      await expect(page.getByLabel("Token")).toBeVisible();
      await looksRight(page, `sign-in-${look}`);
    });
  } finally {
    await locked.close();
    await rm(dir, { recursive: true });
  }
});

test("offline, in both themes at three sizes", async ({ browser }) => {
  await eachLook(browser, async (page, look) => {
    const server = await Server.serve();
    try {
      const plant = new Tenant(server, "default");
      await plant.report(...troubles());
      const board = new Board(page, plant);
      for (const [name, path] of Object.entries({ offline: "/", "offline-wall": "/wall" })) {
        await board.open(path);
        await expect(board.rows.first()).toBeVisible();
        await server.kill();
        await expect(board.lost).toBeVisible();
        await looksRight(page, `${name}-${look}`);
        await server.again();
      }
    } finally {
      await server.close();
    }
  });
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

async function eachLook(
  browser: Browser,
  visit: (page: Page, look: string) => Promise<void>,
): Promise<void> {
  for (const theme of themes) {
    for (const [size, look] of Object.entries(sizes)) {
      await inPage(browser, { ...look, colorScheme: theme }, (page) =>
        visit(page, `${theme}-${size}`),
      );
    }
  }
}

/** inPage opens a page of its own, in which nothing may go wrong that none may. */
async function inPage(
  browser: Browser,
  options: BrowserContextOptions,
  visit: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ ...options, reducedMotion: "reduce" });
  const watch = new Watch();
  await watch.over(context);
  await visit(await context.newPage());
  await context.close();
  expect(watch.take()).toEqual([]);
}

/** looksRight takes the picture, and checks what a machine can see of it. */
async function looksRight(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  expect.soft(await stickingOut(page), "nothing sticks out to the side").toEqual([]);
  await accessible(page);
}

async function accessible(page: Page): Promise<void> {
  // It comes from the debugger, so the page's policy does not apply to it.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(),
  );
  const grave = violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.map((n) => n.html).join(" ")}`);
  expect.soft(grave, "axe finds nothing serious").toEqual([]);
}
