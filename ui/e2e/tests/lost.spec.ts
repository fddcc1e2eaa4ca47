import { Board } from "../board.ts";
import { Server } from "../server.ts";
import { Tenant } from "../tenant.ts";
import { expect, test } from "../test.ts";

for (const view of ["/", "/wall"]) {
  test(`a server that is killed and comes back, seen on ${view}`, async ({ page }) => {
    const server = await Server.serve();
    try {
      const tenant = new Tenant(server, "default");
      await tenant.report(
        { device: "before", state: "WARNING2" },
        { device: "acknowledged", state: "NORMAL" },
      );
      const board = new Board(page, tenant);
      await board.open(view);
      const main = page.getByRole("main");
      await expect(main).toContainText("before");
      await expect(board.lost).toBeHidden();
      await page.evaluate(() => {
        document.body.dataset.kept = "yes";
      });

      // The last one may not have reached the page, but the server has said that it keeps it.
      await tenant.report({ device: "acknowledged", state: "WARNING3" });
      await server.kill();
      await expect(board.lost).toBeVisible();
      await expect(main).toContainText("before");

      await server.again();
      await tenant.report({ device: "after", state: "WARNING4" });
      await expect(board.lost).toBeHidden();
      await expect(main).toContainText("after");
      await expect(main).toContainText("acknowledged");
      await expect(main).toContainText("before");
      await expect(page.locator("body")).toHaveAttribute("data-kept", "yes");

      const counts = await tenant.counts();
      expect(counts).toMatchObject({ WARNING2: 1, WARNING3: 1, WARNING4: 1 });
      if (view === "/") {
        for (const [state, n] of Object.entries(counts)) await board.showsCount(state, n);
      }
    } finally {
      await server.close();
    }
  });
}

const missing = { title: "Not Implemented", status: 501, detail: "this store has no feed" };
const refuse = { status: 501, contentType: "application/problem+json", json: missing };
const feed = /\/api\/v1\/(fleet|events\/stream)(\?|$)/;

for (const view of ["/", "/wall", "/devices/press-7", "/ without a feed", "/devices/press-7 without a feed"]) {
  test(`a server that hangs is seen within seconds on ${view}`, async ({ page }) => {
    const [path = "/", polled] = view.split(" ");
    if (polled) await page.route(feed, (route) => route.fulfill(refuse));
    const server = await Server.serve();
    try {
      const board = new Board(page, new Tenant(server, "default"));
      await board.tenant.report({ device: "press-7", state: "WARNING2" });
      if (polled) await page.goto(board.tenant.address(path));
      else await board.open(path);
      await expect(page.locator('[data-state="WARNING2"]').last()).toBeVisible();
      server.freeze();
      // The page needs 5 s on a quiet machine.
      await expect(board.lost).toBeVisible({ timeout: 20_000 });
      server.thaw();
      await expect(board.lost).toBeHidden();
      await board.tenant.report({ device: "press-7", state: "WARNING3" });
      await expect(page.locator('[data-state="WARNING3"]').last()).toBeVisible();
    } finally {
      server.thaw();
      await server.close();
    }
  });
}

test("the page of a proxy is waited out, and what was known stays", async ({ context, page }) => {
  const server = await Server.serve();
  try {
    const boards = [page, await context.newPage()].map(
      (p) => new Board(p, new Tenant(server, "default")),
    );
    await boards[0]!.tenant.report({ device: "before", state: "WARNING2" });
    for (const [i, path] of ["/", "/wall"].entries()) await boards[i]!.open(path);
    let refused = 0;
    await context.route("**/api/v1/**", (route) => {
      const status = refused++ % 2 ? 403 : 404;
      return route.fulfill({ status, contentType: "text/html", body: "<h1>no</h1>" });
    });
    await server.kill();
    await expect.poll(() => refused).toBeGreaterThan(6);
    for (const board of boards) {
      await expect(board.lost).toBeVisible();
      await expect(board.page.getByRole("main")).toContainText("before");
    }
    await server.again();
    await boards[0]!.tenant.report({ device: "after", state: "WARNING3" });
    await context.unroute("**/api/v1/**");
    for (const board of boards) {
      await expect(board.lost).toBeHidden();
      await expect(board.page.getByRole("main")).toContainText("after");
    }
  } finally {
    await server.close();
  }
});

test("a tenant that is deleted shows nothing, and is shown once it is made again", async ({
  context,
  tenant,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING2" });
  const boards: Board[] = [];
  for (const path of ["/", "/wall", "/incidents", "/devices/press-7"]) {
    const board = new Board(await context.newPage(), tenant);
    await board.open(path);
    await expect(board.page.locator("[data-incident]").first()).toBeVisible();
    boards.push(board);
  }
  await tenant.ask("DELETE", `/tenants/${tenant.id}`);
  for (const { page } of boards) {
    await expect(page.locator("html")).toHaveAttribute("data-live", "failed");
    await expect(page.getByRole("alert").first()).toContainText("there is no tenant");
    await expect(page.locator("[data-incident], main [data-state]")).toHaveCount(0);
  }
  await tenant.make();
  await tenant.report({ device: "press-7", state: "WARNING3" });
  for (const board of boards) {
    await board.live();
    const seen = board.page.locator('[data-state="WARNING3"]');
    await expect(seen.or(board.page.getByText("WARNING3")).first()).toBeVisible();
    await expect(board.page.locator("[data-incident]").first()).toBeVisible();
    await expect(board.page.getByRole("alert")).toHaveCount(0);
  }
});

test("the picture of the wall says how old it is", async ({ page }) => {
  const server = await Server.serve();
  try {
    const board = new Board(page, new Tenant(server, "default"));
    await board.tenant.report({ device: "press-7", state: "WARNING2" });
    await board.open("/wall");
    await server.kill();
    await expect(board.lost).toContainText(/\d/);
    const first = await board.lost.innerText();
    await expect.poll(() => board.lost.innerText()).not.toBe(first);
  } finally {
    await server.close();
  }
});

test("a server without a feed is polled, and the board says so", async ({
  board,
  page,
  tenant,
}) => {
  await page.route(feed, (route) => route.fulfill(refuse));
  // Nor do such stores list devices in another order than by id.
  await page.route(/\/devices\?.*sort=(severity|since)/, (route) => route.fulfill(refuse));
  await tenant.report(
    { device: "first", state: "WARNING2", message: "overheat" },
    { device: "well", state: "NORMAL" },
  );
  await page.goto(tenant.address());
  await expect(page.locator("html")).toHaveAttribute("data-live", "polling");
  await expect(page.getByTestId("polling")).toContainText("every 4 seconds");
  await expect(page.getByTestId("map").getByRole("heading")).toContainText("2");
  await expect(board.row("first")).toBeVisible();
  await board.showsCount("WARNING2", 1);

  await tenant.report({ device: "second", state: "WARNING3" });
  await expect(board.row("second")).toBeVisible();
  await board.showsCount("WARNING3", 1);
  await tenant.report({ device: "first", state: "NORMAL" });
  await expect(board.row("first")).toHaveCount(0);
  await expect(page.getByTestId("map").getByRole("heading")).toContainText("3");
  await board.focusMap();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByTestId("cell")).toContainText("first NORMAL");

  await page.goto(tenant.address("/search"));
  const found = page.getByRole("table", { name: "Devices" }).getByRole("row");
  await expect(found).toContainText([/State/, /second/, /first|well/, /first|well/]);
});

test("a reset of the stream loads the fleet again", async ({ board, page, tenant }) => {
  await tenant.report({ device: "first", state: "WARNING2" });
  await expect(board.row("first")).toBeVisible();
  let asked = 0;
  page.on("request", (r) => {
    if (r.url().includes("/api/v1/fleet")) asked++;
  });
  // The next stream says that it can't resume, as a server does whose changes have gone.
  await page.route(
    /\/events\/stream/,
    (route) =>
      route.fulfill({
        status: 200,
        contentType: "text/event-stream",
        body: 'retry: 100\nevent: reset\ndata: {"detail":"gone"}\n\n',
      }),
    { times: 1 },
  );
  await page.evaluate(() => window.dispatchEvent(new Event("offline")));
  await page.reload();
  await tenant.report({ device: "second", state: "WARNING3" });
  await expect(board.row("second")).toBeVisible();
  await expect.poll(() => asked).toBeGreaterThanOrEqual(2);
  await board.showsCount("WARNING2", 1);
});

test("a tenant that is not there, or no more, is named on a device's page", async ({
  board,
  page,
  server,
  tenant,
}) => {
  const none = new Tenant(server, "nope");
  await page.goto(none.address("/devices/press-7"));
  await expect(page.getByRole("alert")).toHaveText('there is no tenant "nope"');
  await expect(page.locator("html")).toHaveAttribute("data-live", "failed");

  await page.goto(tenant.address(`/devices/${"x".repeat(129)}`)); // no name that a device may have
  await expect(page.getByRole("alert")).toContainText("more than 128");
  await expect(page.locator("html")).toHaveAttribute("data-live", "failed");

  await tenant.report({ device: "press-7", state: "WARNING2" });
  await board.open("/devices/press-7");
  await expect(page.getByTestId("state")).toBeVisible();
  await expect(page.locator("[data-incident]").first()).toBeVisible();
  await tenant.ask("DELETE", `/tenants/${tenant.id}`);
  await expect(page.getByRole("alert")).toHaveText(`there is no tenant "${tenant.id}"`);
  await expect(page.locator("html")).toHaveAttribute("data-live", "failed");
  for (const part of ["state", "strip"]) await expect(page.getByTestId(part)).toHaveCount(0);
  await expect(page.getByRole("list", { name: "Open incidents" })).toHaveCount(0);
  await expect(page.getByRole("main")).not.toContainText("It shows nothing now");
});
