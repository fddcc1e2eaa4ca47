import { ago } from "../tenant.ts";
import { expect, test } from "../test.ts";

test("an event that is posted appears without a reload", async ({ board, page, tenant }) => {
  await page.evaluate(() => {
    document.body.dataset.kept = "yes";
  });
  await tenant.report({ device: "press-7", state: "WARNING2", message: "overheat" });

  await expect(board.row("press-7")).toBeVisible();
  await board.showsCount("WARNING2", 1);
  await expect(board.row("press-7")).toContainText("overheat");

  await tenant.report({ device: "press-7", state: "NORMAL" });
  await expect(board.row("press-7")).toHaveCount(0);
  await board.showsCount("WARNING2", 0);
  await board.showsCount("NORMAL", 1);
  await expect(page.locator("body")).toHaveAttribute("data-kept", "yes");
});

test("the severest rises to the top, and the longest of its state", async ({ board, tenant }) => {
  await tenant.report(
    { device: "a-1", state: "WARNING1", time: ago(900) },
    { device: "b-2", state: "WARNING2", time: ago(60) },
    { device: "c-2", state: "WARNING2", time: ago(600) },
  );
  const order = () =>
    board.rows.evaluateAll((rows) => rows.map((r) => (r as HTMLElement).dataset.device));
  await expect.poll(order).toEqual(["c-2", "b-2", "a-1"]);

  await tenant.report({ device: "a-1", state: "WARNING4" });
  await expect.poll(order).toEqual(["a-1", "c-2", "b-2"]);

  await tenant.report({ device: "c-2", state: "NORMAL" });
  await expect.poll(order).toEqual(["a-1", "b-2"]);
});

test("a click counts for the row that it began on, though the list moves", async ({
  board,
  page,
  tenant,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING1" });
  await expect(board.incidents).toHaveCount(1); // which are above the list
  for (const part of [board.row("press-7").getByRole("link").first(), board.row("press-7")]) {
    const before = await part.boundingBox();
    await part.hover();
    await page.mouse.down();
    await tenant.report({ device: `severer-${before?.y}`, state: "WARNING4" });
    await expect.poll(async () => (await part.boundingBox())?.y).toBeGreaterThan(before!.y + 40);
    await page.mouse.up();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("press-7");
    await page.goBack();
  }
});

test("how long it lasts counts on", async ({ board, tenant }) => {
  await tenant.report({ device: "press-7", state: "WARNING2", time: ago(20) });
  const age = board.row("press-7").getByTestId("age");
  await expect(age).toBeVisible();
  const first = await age.innerText();
  await expect.poll(() => age.innerText()).not.toBe(first);
});

test("late events flip nothing, not even for a moment", async ({ board, page, tenant }) => {
  await tenant.report(
    { device: "well", state: "NORMAL", time: ago(10) },
    { device: "ill", state: "WARNING3", time: ago(10) },
  );
  await expect(board.row("ill")).toBeVisible();
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { seen });
    const look = () => {
      const states = [...document.querySelectorAll<HTMLElement>("[data-device]")].map(
        (row) => `${row.dataset.device} ${row.dataset.state}`,
      );
      const counts = [
        ...document.querySelectorAll<HTMLElement>('[aria-label="Devices by state"] [data-state]'),
      ].map((tile) => `${tile.dataset.state} ${tile.querySelector<HTMLElement>("[data-count]")?.dataset.count}`);
      seen.push([...states, ...counts].join(", "));
    };
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      characterData: true,
    });
  });

  await tenant.report(
    { device: "well", state: "WARNING4", time: ago(3600) },
    { device: "ill", state: "NORMAL", time: ago(3600) },
    { device: "ill", state: "WARNING4", time: ago(1800) },
  );
  // What comes after them on the same stream says that they have been dealt with.
  await tenant.report({ device: "later", state: "WARNING1" });
  await expect(board.row("later")).toBeVisible();

  await expect(board.row("ill")).toHaveAttribute("data-state", "WARNING3");
  await expect(board.row("well")).toHaveCount(0);
  const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
  expect(seen.length).toBeGreaterThan(0);
  for (const picture of seen) {
    expect(picture).not.toMatch(/well WARNING4|ill WARNING4|ill NORMAL|\bWARNING4 1/);
  }
});

test("a device that is retired leaves the board", async ({ board, tenant }) => {
  await tenant.report({ device: "old", state: "WARNING1" }, { device: "new", state: "WARNING1" });
  await expect(board.row("old")).toBeVisible();
  await tenant.ask("DELETE", "/devices/old");
  await expect(board.row("old")).toHaveCount(0);
  await board.showsCount("WARNING1", 1);
});

test("new trouble is in the title, and goes away by itself", async ({
  board,
  page,
  tenant,
}) => {
  const before = await page.title();
  await tenant.report({ device: "press-7", state: "WARNING4" });
  await expect(board.row("press-7")).toBeVisible();
  await expect(page).toHaveTitle(/1/);
  await tenant.report({ device: "press-7", state: "NORMAL" });
  await expect(page).toHaveTitle(before);
});

test("a device that falls silent looks different, and one that is heard again, without asking", async ({
  page,
  board,
  tenant,
}) => {
  await tenant.make({ silent_after: "3s" });
  await tenant.report({ device: "quiet", state: "WARNING2" });
  await expect(board.row("quiet")).toBeVisible();
  await board.showsCount("silent", 1);
  await expect(board.row("quiet").getByText("silent")).toHaveAttribute("title", /^last heard /);

  const asked: string[] = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname));
  // The same again is no change of what it shows.
  await expect(async () => {
    await tenant.report({ device: "quiet", state: "WARNING2" });
    expect(await board.row("quiet").innerText()).not.toContain("silent");
  }).toPass({ intervals: [300] });
  await board.showsCount("silent", 1);
  // Its incident has one report more, which is asked for; the fleet is not.
  const known = /^\/api\/v1\/(devices\/quiet|incidents|incidents\/counts)$/;
  expect(asked.filter((path) => !known.test(path))).toEqual([]);
});

test("states of the tenant's own", async ({ board, page, tenant }) => {
  await tenant.make({
    states: [
      { name: "RUNNING", severity: 0, letter: "R", colour: "#227733", symbol: "●" },
      { name: "JAMMED", severity: 50, letter: "J", colour: "#bb2200", symbol: "■" },
    ],
  });
  await tenant.report(
    { device: "belt-1", state: "JAMMED" },
    { device: "belt-2", state: "RUNNING" },
  );
  await page.reload();
  await board.live();
  await board.showsCount("JAMMED", 1);
  await board.showsCount("RUNNING", 1);
  await expect(board.tile("JAMMED")).toContainText("J");
  await expect(board.row("belt-1")).toBeVisible();
});
