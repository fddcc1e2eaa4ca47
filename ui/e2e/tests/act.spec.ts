import { deviceAt } from "../board.ts";
import { ago } from "../tenant.ts";
import { expect, test } from "../test.ts";

test("who is assigned on the page is assigned for all", async ({
  board,
  page,
  tenant,
  another,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING2", message: "overheat" });
  const second = await another();
  await expect(second.row("press-7")).toBeVisible();
  await expect(second.row("press-7")).not.toContainText("Liz");

  await board.open(deviceAt("press-7"));
  await board.assign("Liz");

  await expect(page.getByTestId("operator")).toContainText("Liz");
  await expect(second.row("press-7")).toContainText("Liz");
  expect((await tenant.device("press-7")).operator).toBe("Liz");
});

test("Enter in the form assigns, also where another one answers so far", async ({
  board,
  page,
  tenant,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING2", operator: "Liz" });
  await board.open(deviceAt("press-7"));
  await page.getByRole("button", { name: /^Assign/ }).click();
  await page.getByRole("dialog").getByLabel("Operator").fill("Tom");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  expect((await tenant.device("press-7")).operator).toBe("Tom");
});

test("what is escalated on the page reaches the supervisor, and can be taken back", async ({
  board,
  page,
  tenant,
  another,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING3", message: "smoke" });
  await tenant.ask("PUT", "/devices/press-7/operator", { operator: "Liz" });
  const second = await another();
  await expect(second.row("press-7")).toBeVisible();

  await board.open(deviceAt("press-7"));
  await board.escalate("Sara", "for the second time");

  await expect(page.getByTestId("escalated")).toContainText("Sara");
  await expect(second.row("press-7")).toContainText("Sara");
  expect((await tenant.device("press-7")).escalated_to).toBe("Sara");
  const { items } = await tenant.ask<{ items: { device: string }[] }>(
    "GET",
    "/supervisors/Sara/events",
  );
  expect(items.map((i) => i.device)).toEqual(["press-7"]);

  await second.open("/supervisors/Sara");
  await expect(second.page.getByRole("main")).toContainText("press-7");

  const answered = page.getByRole("table", { name: "Who answered for it" }).locator("[data-does]");
  await expect(answered).toHaveText([/Sara.*WARNING3.*for the second time/, /Liz ?$/]);

  await board.withdrawEscalation();
  await expect(answered.first()).toHaveAttribute("data-does", "escalation withdrawn");
  await expect(page.getByTestId("escalated")).not.toContainText("Sara");
  await expect.poll(async () => (await tenant.device("press-7")).escalated_to ?? "").toBe("");
});

test("an entry that is withdrawn counts no longer", async ({ board, page, tenant, another }) => {
  await tenant.report(
    { device: "press-7", state: "NORMAL", time: ago(600) },
    { device: "press-7", state: "WARNING3", message: "sent by mistake" },
  );
  const second = await another();
  await expect(second.row("press-7")).toBeVisible();
  await board.open(deviceAt("press-7"));
  await board.withdrawEntry("it was a test");
  await expect(page.getByTestId("state")).toContainText("NORMAL");
  await expect(second.row("press-7")).toHaveCount(0);
  expect((await tenant.device("press-7")).state).toBe("NORMAL");
});

test("a change that the server refuses is shown, and nothing is changed", async ({
  board,
  page,
  tenant,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING2", operator: "Liz" });
  await board.open(deviceAt("press-7"));
  await board.assign("x".repeat(129), { refused: true });
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText(/128|long/);
  expect((await tenant.device("press-7")).operator).toBe("Liz");
});

test("a device's page tells its past", async ({ board, page, tenant }) => {
  await tenant.report(
    { device: "press-7", state: "NORMAL", time: ago(7200), operator: "Tom" },
    { device: "press-7", state: "WARNING1", time: ago(3600), message: "vibrates" },
    { device: "press-7", state: "WARNING2", time: ago(1800), message: "overheat" },
  );
  await tenant.ask(
    "POST",
    "/readings",
    [60, 65, 71.5].map((temperature, i) => ({
      device: "press-7",
      time: ago(3000 - 600 * i),
      metrics: { temperature, pressure: 1000 + i },
    })),
  );
  await board.open(deviceAt("press-7"));

  await expect(page.getByRole("heading", { level: 1 })).toContainText("press-7");
  await expect(page.getByTestId("state")).toContainText("WARNING2");
  await expect(page.getByTestId("strip")).toBeVisible();
  const main = page.getByRole("main");
  await expect(main).toContainText("vibrates");
  await expect(main).toContainText("overheat");
  await expect(main).toContainText("temperature");
  await expect(page.getByTestId("chart").first()).toBeVisible();

  await tenant.report({ device: "press-7", state: "WARNING4", message: "stopped" });
  await expect(page.getByTestId("state")).toContainText("WARNING4");
  await expect(main).toContainText("stopped");
});

test("a device that was heard long ago leads to its newest entry", async ({ board, page, tenant }) => {
  const day = 86_400;
  await tenant.report(
    { device: "old", state: "NORMAL", time: ago(500 * day) },
    { device: "old", state: "WARNING2", time: ago(400 * day), message: "the last word" },
  );
  await board.open(deviceAt("old"));
  const strip = page.getByTestId("strip");
  for (const range of ["24h", "7d"]) {
    await page.getByRole("button", { name: range }).click();
    await expect(strip, "all of it is silence").toHaveAttribute("data-gaps", "1");
  }
  await page.getByRole("button", { name: "Go to the newest entry" }).click();
  await expect(page.getByRole("table", { name: "Entries" })).toContainText("the last word");
  await page.goto(tenant.address(`${deviceAt("old")}?range=600d`));
  await expect(page.getByRole("table", { name: "Runs" })).toContainText("400 d");
  const wider = await page.getByRole("table", { name: "Runs" }).evaluate((table) => {
    const panel = table.parentElement!;
    return table.getBoundingClientRect().right - panel.getBoundingClientRect().right;
  });
  expect(wider, "the table stays in its panel").toBeLessThanOrEqual(0);
});

test("an operator sees what is his now, and what he had", async ({ board, page, tenant }) => {
  await tenant.report(
    { device: "mine-1", state: "WARNING2", operator: "Liz" },
    { device: "had-2", state: "WARNING1", operator: "Liz", time: ago(3600) },
    { device: "had-2", state: "NORMAL", operator: "Tom", time: ago(1800) },
    { device: "not-3", state: "WARNING3", operator: "Tom" },
  );
  await board.open("/operators/Liz");
  const main = page.getByRole("main");
  await expect(main).toContainText("mine-1");
  await expect(main).toContainText("had-2");
  await expect(main).not.toContainText("not-3");

  await tenant.ask("PUT", "/devices/not-3/operator", { operator: "Liz" });
  await expect(main).toContainText("not-3");
});

test("times of the night when clocks go back say which is which", async ({ board, page, tenant }) => {
  await tenant.report(
    { device: "night-1", state: "WARNING1", operator: "Liz", time: "2025-10-26T00:15:00Z" },
    { device: "night-1", state: "WARNING2", operator: "Liz", time: "2025-10-26T01:15:00Z" },
  );
  const span = "from=2025-10-25T22:00:00Z&to=2025-10-26T22:00:00Z";
  for (const path of ["/operators/Liz?from=2025-10-26&to=2025-10-26", `${deviceAt("night-1")}?${span}`]) {
    await board.open(path);
    const table = page.getByRole("table", { name: "Entries" });
    await expect(table.locator("th").first()).toHaveText("Time, Europe/Berlin");
    await expect(table.locator("td.when")).toHaveText([/ 02:15:00 CET$/, / 02:15:00 CEST$/]);
  }
});

test("what a search found in a large fleet stays while the fleet changes", async ({ board, page, tenant }) => {
  // The server looks at 20,000 devices for a page.
  const many = Array.from({ length: 21_000 }, (_, i) => ({ device: `d${10_000 + i}`, state: "NORMAL" }));
  for (let i = 0; i < many.length; i += 3000) await tenant.report(...many.slice(i, i + 3000));
  await board.open("/search?search=d30999&sort=device");
  const found = page.getByRole("table", { name: "Devices" }).locator("[data-device=d30999]");
  await expect(found).toBeVisible();
  await page.evaluate(() => {
    const main = document.querySelector("main")!;
    const look = () => main.querySelector("[data-device=d30999]") ?? (document.body.dataset.gone = "yes");
    new MutationObserver(look).observe(main, { childList: true, subtree: true });
  });
  await tenant.report({ device: "d30999", state: "WARNING1" });
  await expect(found).toHaveAttribute("data-state", "WARNING1");
  await expect(page.locator("body")).not.toHaveAttribute("data-gone", "yes");
});

test("a search has an address that can be shared, and can be taken along", async ({
  board,
  page,
  tenant,
  another,
}) => {
  await tenant.report(
    { device: "press-1", state: "WARNING2", operator: "Liz" },
    { device: "press-2", state: "NORMAL", operator: "Liz" },
    { device: "oven-1", state: "WARNING2", operator: "Tom" },
    { device: "saw-1", state: "WARNING1", operator: "Tom", message: "stopped: the press is full" },
  );
  await board.open("/search");
  await page.getByLabel("Text", { exact: true }).fill("RESS");
  await expect(page.getByRole("main").locator("[data-device=saw-1]")).toContainText("the press is full");
  await page.getByLabel("WARNING1", { exact: true }).check();
  await page.getByLabel("WARNING2", { exact: true }).check();
  const found = page.getByRole("table", { name: "Devices" });
  await expect(found.locator("[data-device]")).toHaveCount(2);
  await expect(found).toContainText("press-1");
  await page.getByLabel("WARNING1", { exact: true }).uncheck();
  await expect(found.locator("[data-device]")).toHaveCount(1);
  await page.getByLabel("WARNING2", { exact: true }).uncheck();
  await page.getByLabel("Operator", { exact: true }).fill("Liz");
  await page.keyboard.press("Enter");
  const main = page.getByRole("main");
  await expect(main).toContainText("press-2");
  await expect(main).not.toContainText("oven-1");

  const second = await another();
  await second.page.goto(page.url());
  await expect(second.page.getByRole("main")).toContainText("press-1");
  await expect(second.page.getByRole("main")).not.toContainText("oven-1");

  for (const [name, begins] of [
    ["CSV", "device,"],
    ["JSON", "["],
  ] as const) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("main").getByText(name, { exact: false }).first().click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    expect(text.trimStart()).toContain(begins);
    expect(text).toContain("press-1");
    expect(text).not.toContain("oven-1");
  }
});
