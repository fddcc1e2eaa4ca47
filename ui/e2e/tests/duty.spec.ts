import { stickingOut } from "../board.ts";
import { grave, inTheme, narrowTargets } from "../look.ts";
import { ago, Tenant } from "../tenant.ts";
import { expect, test } from "../test.ts";

const ahead = (seconds: number) => ago(-seconds);

/** duty gives a plant people, two schedules and two windows of maintenance. */
async function duty(tenant: Tenant): Promise<void> {
  for (const name of ["Liz", "Sara"]) await tenant.ask("PUT", `/people/${name}`, { zone: "Europe/Berlin" });
  await tenant.ask("PUT", "/schedules/line-3", {
    zone: "Europe/Berlin",
    layers: [{ people: ["Liz"], from: "2026-11-01", turn: "1d", hand_over: "06:00" }],
    overrides: [{ from: ago(3600), to: ahead(3600), person: "Sara", reason: "Liz is ill" }],
  });
  await tenant.ask("PUT", "/maintenance/oil", {
    prefix: "press-",
    start: ahead(86_400),
    length: "2h",
    rrule: "FREQ=WEEKLY",
    zone: "Europe/Berlin",
    note: "change the oil",
    by: "Liz",
  });
  await tenant.ask("PUT", "/maintenance/bricks", { devices: ["oven-1"], start: ago(600), length: "4h" });
}

/** past makes incidents of the last minutes. */
async function past(tenant: Tenant): Promise<void> {
  await tenant.report(
    { device: "press-6", state: "WARNING1", time: ago(30), operator: "Liz" },
    { device: "press-7", state: "WARNING4", time: ago(20), operator: "Liz" },
    { device: "oven-1", state: "WARNING4", time: ago(10), operator: "Tom" },
  );
  const read = async () => (await tenant.ask<{ total: number }>("GET", "/incidents/counts")).total;
  await expect.poll(read).toBe(3);
}

test("who is on call, who is next, and who will be", async ({ board, page, tenant }) => {
  await duty(tenant);
  await board.open("/on-call");
  const row = page.locator("[data-schedule=line-3]");
  await expect(row.getByTestId("on-call")).toContainText("Sara");
  await expect(row.getByTestId("on-call")).toContainText("Liz is ill");
  await expect(row.getByTestId("then")).toContainText("Liz");
  await page.getByLabel("At").fill("2027-02-01T12:00");
  await expect(row.getByTestId("on-call")).toHaveText("Liz");

  const windows = page.getByRole("table", { name: "Maintenance windows" });
  await expect(windows.locator("[data-window=bricks]")).toHaveAttribute("data-when", "now");
  await expect(windows.locator("[data-window=oil]")).toContainText("weekly");
  await expect(windows.locator("[data-window=oil]")).toContainText("change the oil");
});

test("a report has figures, plots and rows that can be taken along", async ({ board, page, tenant }) => {
  await past(tenant);
  await board.open("/incidents");
  await page.getByRole("link", { name: "Reports" }).click();
  await expect(page.getByTestId("incidents")).toHaveText("3");
  await expect(page.getByTestId("chart")).toHaveCount(2);
  await expect(page.getByTestId("chart").first().locator("canvas")).toBeVisible();
  await expect(page.getByRole("table", { name: "By operator" }).locator("tbody tr")).toHaveText([/Liz2/, /Tom1/]);
  await page.getByRole("combobox", { name: "Per" }).selectOption("device");
  await expect(page.locator("[data-row=oven-1]")).toBeVisible();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("incidents-by-device.csv");
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).toString()).toMatch(/^device,incidents,[^]*press-7,1,/);

  await page.getByLabel("To", { exact: true }).fill("2020-04-24");
  await page.getByLabel("From", { exact: true }).fill("2020-04-20");
  await expect(page.getByTestId("incidents")).toHaveText("0");
});

for (const theme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${theme}`, async ({ board, page, tenant }) => {
    await duty(tenant);
    await past(tenant);
    for (const [path, shows] of Object.entries({ "/on-call": "Sara", "/reports": "press-6" })) {
      await board.open(`${path}?per=device`);
      await inTheme(page, theme);
      await expect(page.getByRole("main")).toContainText(shows);
      expect.soft(await grave(page), `${path}: axe finds nothing serious`).toEqual([]);
    }
  });
}

test("nothing sticks out on a phone", async ({ another, tenant }) => {
  await duty(tenant);
  await past(tenant);
  const board = await another({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  for (const [path, shows] of Object.entries({ "/on-call": "Sara", "/reports": "press-6" })) {
    await board.open(`${path}?per=device`);
    await expect(board.page.getByRole("main")).toContainText(shows);
    expect.soft(await stickingOut(board.page), path).toEqual([]);
    expect.soft(await narrowTargets(board.page, "nav.sub"), path).toEqual([]);
  }
});
