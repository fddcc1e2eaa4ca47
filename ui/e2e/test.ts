import { type BrowserContext, expect, test as base } from "@playwright/test";
import { Board } from "./board.ts";
import { Server } from "./server.ts";
import { Tenant } from "./tenant.ts";
import { Watch } from "./watch.ts";

export { expect };

interface ForTest {
  /** A tenant of its own for each test, so that tests can run side by side on one server. */
  tenant: Tenant;
  watch: Watch;
  /** The board of the tenant, on the fleet's page. */
  board: Board;
  /** Opens the tenant's board in another browser context, as on another person's screen. */
  another: (
    options?: Parameters<import("@playwright/test").Browser["newContext"]>[0],
  ) => Promise<Board>;
}

interface ForWorker {
  server: Server;
}

export const test = base.extend<ForTest, ForWorker>({
  server: [
    async ({}, use) => {
      const s = await Server.serve();
      await use(s);
      await s.close();
    },
    { scope: "worker", timeout: 180_000 },
  ],

  tenant: async ({ server }, use, info) => {
    const t = new Tenant(server, `plant-${info.testId}`);
    await t.make();
    await use(t);
  },

  watch: [
    async ({ context }, use) => {
      const w = new Watch();
      await w.over(context);
      await use(w);
      expect(w.take(), "what no page may do").toEqual([]);
    },
    { auto: true },
  ],

  board: async ({ page, tenant }, use) => {
    const b = new Board(page, tenant);
    await b.open();
    await use(b);
  },

  another: async ({ browser, tenant, watch }, use) => {
    const opened: BrowserContext[] = [];
    await use(async (options) => {
      const context = await browser.newContext(options);
      opened.push(context);
      await watch.over(context);
      const b = new Board(await context.newPage(), tenant);
      await b.open();
      return b;
    });
    for (const context of opened) await context.close();
  },
});
