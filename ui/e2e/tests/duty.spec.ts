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

/** The pages, and what each shows. */
const pages = {
  "/on-call": "Sara",
  "/maintenance": "change the oil",
  "/reports": "press-6",
  "/rules": "division by zero",
};

/** said makes rules, of which one is disabled. */
async function said(tenant: Tenant): Promise<void> {
  await tenant.ask("PUT", "/rules/press-hot", {
    match: { prefix: "press-" },
    when: { metric: "temperature", op: ">", value: 80 },
    for: "2m",
    clear_value: 75,
    state: "WARNING2",
    message: "{temperature} °C",
  });
  await tenant.ask("PUT", "/rules/strained", {
    when: { expr: "power / rpm > 2.5" },
    state: "WARNING1",
    disabled: "by Andon, after 10 errors in a row, the last: division by zero",
  });
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
  await expect(row.getByTestId("gaps")).toHaveCount(0);
  await page.getByLabel("At", { exact: true }).fill("2027-02-01T12:00");
  await expect(row.getByTestId("on-call")).toHaveText("Liz");
});

test("a gap is told, and somebody stands in", async ({ board, page, tenant }) => {
  await duty(tenant);
  await tenant.ask("PUT", "/schedules/nights", {
    zone: "Europe/Berlin",
    layers: [{ people: ["Liz"], from: ago(-5 * 86_400).slice(0, 10), turn: "7d", hand_over: "06:00" }],
  });
  await board.open("/on-call");
  const row = page.locator("[data-schedule=nights]");
  await expect(row.getByTestId("on-call")).toHaveText("⚠ nobody");
  await expect(row.getByTestId("gaps")).toHaveAttribute("data-count", "1");
  await row.getByRole("button", { name: "Stand in" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Person").fill("Sara");
  await dialog.getByLabel("Reason").fill("until Liz is back");
  await dialog.getByRole("button", { name: "Stand in" }).click();
  await expect(dialog).toBeHidden();
  await expect(row.getByTestId("on-call")).toContainText("Sara");
  await expect(row.getByTestId("on-call")).toContainText("until Liz is back");
  expect((await tenant.ask<{ person: string }>("GET", "/schedules/nights/on-call")).person).toBe("Sara");

  // What else is changed of the schedule meanwhile stays: only the overrides are sent.
  const sent: string[] = [];
  page.on("request", (r) => r.method() === "PUT" && sent.push(new URL(r.url()).pathname));
  await row.getByRole("button", { name: "Remove: Sara stands in" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(row.getByTestId("on-call")).toHaveText("⚠ nobody");
  expect(sent).toEqual(["/api/v1/schedules/nights/overrides"]);
});

test("what is not normal and in maintenance says so, also where the window begins later", async ({ board, page, tenant }) => {
  await past(tenant);
  await board.open("/");
  await expect(board.row("press-7")).toBeVisible();
  await duty(tenant); // oven-1 is in maintenance
  await expect(board.row("oven-1").getByTestId("maintenance")).toHaveText("maintenance");
  await expect(board.row("press-7").getByTestId("maintenance")).toHaveCount(0);
  const second = await page.context().newPage();
  await second.goto(tenant.address("/wall?show=trouble"));
  const onWall = second.locator("[data-device=oven-1]").getByTestId("maintenance");
  await expect(onWall).toBeVisible();
  await tenant.ask("DELETE", "/maintenance/bricks");
  for (const is of [board.row("oven-1").getByTestId("maintenance"), onWall]) await expect(is).toHaveCount(0);
});

test("rules say what they say, and one that is disabled is switched on", async ({ board, page, tenant }) => {
  await said(tenant);
  await board.open("/incidents");
  await page.getByRole("link", { name: "Rules" }).click();
  const hot = page.locator("[data-rule=press-hot]");
  for (const text of ["temperature > 80, for 2m", "temperature ≤ 75", "press-…", "WARNING2"]) {
    await expect(hot).toContainText(text);
  }
  const strained = page.locator("[data-rule=strained]");
  await expect(strained).toContainText("division by zero");
  await expect(strained).toContainText("all devices");
  await strained.getByRole("button", { name: "Switch on again" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Switch on" }).click();
  await expect(strained).toHaveAttribute("data-disabled", "false");
  const stored = await tenant.ask<Record<string, unknown>>("GET", "/rules/strained");
  expect(stored).toMatchObject({ when: { expr: "power / rpm > 2.5" }, state: "WARNING1" });
  expect(stored.disabled).toBeUndefined();
});

test("maintenance is planned, seen in the calendar, and ended", async ({ board, page, tenant }) => {
  await duty(tenant);
  await board.open("/maintenance");
  const windows = page.getByRole("list", { name: "Maintenance windows" });
  await expect(windows.locator("[data-window=bricks]")).toHaveAttribute("data-when", "now");
  const oil = windows.locator("[data-window=oil]");
  await expect(oil).toHaveAttribute("data-when", "to come");
  await expect(oil).toContainText("weekly");
  await expect(oil).toContainText("change the oil");
  await expect(oil.locator(".bar"), "four weeks have four of them").toHaveCount(4);

  await page.getByRole("button", { name: "Plan maintenance" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("belts");
  await dialog.getByLabel("Devices").fill("press-7\nsaw-*");
  await dialog.getByLabel("For").selectOption("2h");
  await dialog.getByLabel("Note").fill("new belts");
  await dialog.getByLabel("Your name").fill("Tom");
  await dialog.getByRole("button", { name: "Plan" }).click();
  await expect(dialog).toBeHidden();
  const belts = windows.locator("[data-window=belts]");
  await expect(belts).toHaveAttribute("data-when", "now");
  await expect(belts).toContainText("press-7; saw-…");
  const stored = await tenant.ask<Record<string, unknown>>("GET", "/maintenance/belts");
  expect(stored).toMatchObject({ devices: ["press-7"], prefix: "saw-", length: "2h", note: "new belts", by: "Tom" });

  // A name that is taken is not taken from whoever has planned it.
  await page.getByRole("button", { name: "Plan maintenance" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("bricks");
  await dialog.getByLabel("Devices").fill("saw-1");
  await dialog.getByRole("button", { name: "Plan" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await page.keyboard.press("Escape");

  const bricks = windows.locator("[data-window=bricks]");
  await bricks.getByRole("button", { name: "End now" }).click();
  await dialog.getByRole("button", { name: "End now" }).click();
  await expect(bricks).toHaveAttribute("data-when", "over");
  expect(parseInt((await tenant.ask<{ length: string }>("GET", "/maintenance/bricks")).length)).toBeGreaterThan(0);
  await oil.getByRole("button", { name: "Remove" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(oil).toHaveCount(0);
});

test("maintenance is planned of devices with any names", async ({ board, page, tenant }) => {
  await board.open("/maintenance");
  const dialog = page.getByRole("dialog");
  const plan = async (name: string, devices: string) => {
    await page.getByRole("button", { name: "Plan maintenance" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill(name);
    await dialog.getByLabel("Devices").fill(devices);
    await dialog.getByLabel("Your name").fill("Tom");
    await dialog.getByRole("button", { name: "Plan" }).click();
    await expect(dialog).toBeHidden();
    return tenant.ask<{ devices?: string[]; prefix?: string }>("GET", `/maintenance/${name}`);
  };
  const names = [" hall 1, oven  1 ", "oven 1", "\"it's\"", "press  7 "];
  expect((await plan("named", `${names.join("\n")}\n\n`)).devices).toEqual(names);
  const ovens = await plan("ovens", "oven *");
  expect(ovens.prefix).toBe("oven ");
  expect(ovens.devices ?? []).toEqual([]);

  await page.getByRole("button", { name: "Plan maintenance" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("all");
  await dialog.getByLabel("Devices").fill("oven 1\n*");
  await dialog.getByLabel("Your name").fill("Tom");
  await dialog.getByRole("button", { name: "Plan" }).click();
  await expect(dialog).toContainText("* alone is all devices");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();

  // Only the end is changed: what was selected stays.
  await page.locator("[data-window=named]").getByRole("button", { name: "End now" }).click();
  await dialog.getByRole("button", { name: "End now" }).click();
  await expect(dialog).toBeHidden();
  const ended = await tenant.ask<{ devices: string[]; length: string }>("GET", "/maintenance/named");
  expect(ended.devices).toEqual(names);
  expect(ended.length).not.toBe("1h");
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

  expect(new URL(page.url()).searchParams.get("from"), "the last seven days move").toBe(null);
  const from = await page.getByLabel("From", { exact: true }).inputValue();
  await page.getByLabel("To", { exact: true }).fill(from);
  await expect(page, "both dates can be shared").toHaveURL(new RegExp(`[?&]from=${from}`));
  await page.getByLabel("To", { exact: true }).fill("2020-04-24");
  await expect(page.getByLabel("From", { exact: true })).toHaveValue("2020-04-18");
  await page.getByLabel("From", { exact: true }).fill("2020-04-20");
  await expect(page.getByTestId("incidents")).toHaveText("0");
});

for (const theme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${theme}`, async ({ board, page, tenant }) => {
    await duty(tenant);
    await past(tenant);
    await said(tenant);
    for (const [path, shows] of Object.entries(pages)) {
      await board.open(`${path}?per=device`);
      await inTheme(page, theme);
      await expect(page.getByRole("main")).toContainText(shows);
      expect.soft(await grave(page), `${path}: axe finds nothing serious`).toEqual([]);
    }
  });
}

test("nothing sticks out of a window that becomes narrower", async ({ board, page, tenant }) => {
  await duty(tenant);
  await past(tenant);
  await said(tenant);
  for (const [path, shows] of Object.entries(pages)) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await board.open(`${path}?per=device`);
    await expect(page.getByRole("main")).toContainText(shows);
    if (path === "/reports") await expect(page.getByTestId("chart").first().locator("canvas")).toBeVisible();
    for (const width of [1200, 1024, 820, 700, 320]) {
      await page.setViewportSize({ width, height: 900 });
      await expect.poll(() => stickingOut(page), `${path} at ${width}`).toEqual([]);
    }
  }
});

test("with a thumb on a phone", async ({ another, tenant }) => {
  await duty(tenant);
  await past(tenant);
  await said(tenant);
  const board = await another({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const { page } = board;
  for (const [path, shows] of Object.entries(pages)) {
    await board.open(`${path}?per=device`);
    await expect(page.getByRole("main")).toContainText(shows);
    expect.soft(await stickingOut(page), path).toEqual([]);
    expect.soft(await narrowTargets(page, "main, header"), path).toEqual([]);
  }
  await board.open("/maintenance");
  await page.getByRole("button", { name: "Plan maintenance" }).tap();
  await expect(page.getByRole("dialog")).toBeVisible();
  expect.soft(await stickingOut(page)).toEqual([]);
  expect.soft(await narrowTargets(page, "dialog")).toEqual([]);
});
