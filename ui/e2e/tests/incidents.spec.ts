import { availableParallelism, loadavg } from "node:os";
import type { Locator, Page } from "@playwright/test";
import { Board, stickingOut } from "../board.ts";
import { grave, inTheme, narrowTargets } from "../look.ts";
import { Server } from "../server.ts";
import { ago, Tenant } from "../tenant.ts";
import { expect, test } from "../test.ts";

/** An incident, as far as these tests ask. */
interface Incident {
  id: string;
  device: string;
  status: string;
  flapping?: boolean;
  operator?: string;
  acknowledged?: { by: string };
  shelved?: { by: string; reason: string };
}

/** Another person's action has to be seen within a second, or five where the machine is busy. */
function within(): { timeout: number } {
  return { timeout: (loadavg()[0] ?? 0) <= availableParallelism() ? 1000 : 5000 };
}

async function incidents(tenant: Tenant, status = ""): Promise<Incident[]> {
  const path = `/incidents${status && `?status=${status}`}`;
  return (await tenant.ask<{ items: Incident[] }>("GET", path)).items;
}

/** opened waits for the incident of a device. */
async function opened(tenant: Tenant, device: string): Promise<Incident> {
  let found: Incident | undefined;
  await expect
    .poll(async () => (found = (await incidents(tenant)).find((i) => i.device === device)))
    .toBeTruthy();
  return found!;
}

const rowOf = (page: Page, device: string): Locator =>
  page.getByRole("list", { name: "Incidents" }).locator(`[data-device="${device}"]`);

/** named is a browser whose user has said who they are. */
async function named(board: Board, name: string): Promise<void> {
  await board.page.evaluate((n) => localStorage.setItem("andon.name", n), name);
}

/** trouble makes three incidents, of which press-7 is the severest. */
async function trouble(tenant: Tenant): Promise<void> {
  await tenant.report(
    { device: "press-6", state: "WARNING1", time: ago(300), message: "vibrates" },
    { device: "press-7", state: "WARNING4", time: ago(60), message: "stopped", operator: "Tom" },
    { device: "press-8", state: "WARNING1", time: ago(600), message: "leaks" },
    { device: "press-9", state: "NORMAL" },
  );
  for (const device of ["press-6", "press-7", "press-8"]) await opened(tenant, device);
}

test("the severest and longest come first, with what was said and who has it", async ({ board, page, tenant }) => {
  await trouble(tenant);
  await board.open("/incidents");
  const rows = page.getByRole("list", { name: "Incidents" }).locator("[data-incident]");
  await expect(rows.locator("a.id")).toHaveText(["press-7", "press-8", "press-6"]);
  await expect(rows.first()).toContainText("stopped");
  await expect(rows.first().getByTestId("operator")).toHaveText("Tom");
  await expect(rows.first().getByTestId("status")).toHaveText("unacknowledged");
  await expect(rows.first().getByTestId("age")).toContainText("1 m");
  await expect(page.getByTestId("waiting")).toHaveAttribute("data-count", "3");

  const { id } = await opened(tenant, "press-6");
  await tenant.ask("POST", `/incidents/${id}/comment`, { by: "Ann", note: "the bearing is ordered" });
  await expect(rowOf(page, "press-6")).toContainText("the bearing is ordered");
  await expect(rowOf(page, "press-6")).toContainText("Ann");
});

test("the first page has incidents first, and its keys go on to the devices", async ({ board, page, tenant }) => {
  await trouble(tenant);
  const first = page.getByRole("region", { name: /^Incidents/ });
  await expect(first.locator("a.id")).toHaveText(["press-7", "press-8", "press-6"]);
  await expect(first).toContainText("3 to be acknowledged");
  await named(board, "Liz");
  await board.open("/");
  await expect(rowOf(page, "press-7")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await expect(rowOf(page, "press-7").getByTestId("status")).toHaveText("acknowledged by Liz");
  await expect(first).toContainText("2 to be acknowledged");
  for (const device of ["press-8", "press-6"]) {
    await page.keyboard.press("j");
    await expect(rowOf(page, device).locator("a.id")).toBeFocused();
  }
  await page.keyboard.press("j");
  await expect(board.row("press-7").locator("a.id")).toBeFocused();
  await page.keyboard.press("j");
  await expect(board.row("press-8").locator("a.id")).toBeFocused();
  await page.keyboard.press("t");
  await expect(rowOf(page, "press-8").getByTestId("operator")).toHaveText("Liz");
  for (const row of [board.row("press-7"), rowOf(page, "press-6")]) {
    await page.keyboard.press("k");
    await expect(row.locator("a.id")).toBeFocused();
  }
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Acknowledge");
  await expect(page.getByRole("dialog")).toContainText("Next incident, then next device");
});

test("the wall keeps in sight what nobody has acknowledged", async ({ board, page, tenant }) => {
  await trouble(tenant);
  await board.open("/wall?show=map");
  const waiting = page.getByRole("region", { name: "To be acknowledged" });
  await expect(waiting.locator("[data-incident]")).toHaveCount(3);
  await expect(waiting.locator("[data-incident]").first()).toContainText("stopped");
  await expect(waiting.getByTestId("waiting")).toHaveText("3");
  const { id } = await opened(tenant, "press-7");
  await tenant.ask("POST", `/incidents/${id}/acknowledge`, { by: "Ann" });
  await expect(waiting.locator("[data-incident]").first()).toContainText("press-8", within());
  for (const device of ["press-8", "press-6"]) {
    const { id } = await opened(tenant, device);
    await tenant.ask("POST", `/incidents/${id}/acknowledge`, { by: "Ann" });
  }
  await expect(waiting).toHaveCount(0);
});

test("the page of a device has its incidents", async ({ board, page, tenant, another }) => {
  await trouble(tenant);
  await named(board, "Liz");
  await board.open("/devices/press-7");
  const open = page.getByRole("list", { name: "Open incidents" });
  const second = await another();
  await second.open("/devices/press-7");
  const seen = second.page.getByRole("list", { name: "Open incidents" });
  await expect(seen.getByTestId("status")).toHaveText("unacknowledged");
  await open.getByRole("button", { name: "Acknowledge" }).click();
  await expect(seen.getByTestId("status")).toHaveText("acknowledged by Liz", within());
  await tenant.report({ device: "press-7", state: "NORMAL" });
  await expect(open).toHaveCount(0);
  const earlier = page.getByRole("table", { name: "Earlier incidents" }).locator("[data-incident]");
  await expect(earlier).toHaveCount(1);
  await expect(earlier).toContainText("WARNING4");
  await earlier.getByRole("link").click();
  await expect(page.getByRole("table", { name: "Steps" })).toContainText("closed");
});

test("two people see what the other does within a second", async ({ board, page, tenant, another }) => {
  await trouble(tenant);
  const second = await another();
  await named(board, "Liz");
  await named(second, "Sara");
  for (const b of [board, second]) {
    await b.open("/incidents");
    await expect(rowOf(b.page, "press-7")).toBeVisible();
  }
  await rowOf(page, "press-7").getByRole("button", { name: "Acknowledge" }).click();
  await expect(rowOf(second.page, "press-7").getByTestId("status")).toHaveText("acknowledged by Liz", within());
  await rowOf(second.page, "press-8").getByRole("button", { name: "Take" }).click();
  await expect(rowOf(page, "press-8").getByTestId("operator")).toHaveText("Sara", within());
  await expect(page.getByTestId("waiting")).toHaveAttribute("data-count", "2");
});

test("a list of more than 1,000 rows goes on changing", async ({ board, page, tenant }) => {
  const entries = Array.from({ length: 1050 }, (_, i) => ({
    device: `press-${i}`,
    state: "WARNING1",
    time: ago(5000 - i),
  }));
  await tenant.report(...entries);
  const { id } = await opened(tenant, "press-0");
  const counts = () => tenant.ask<{ total: number }>("GET", "/incidents/counts");
  await expect.poll(async () => (await counts()).total).toBe(1050);
  await board.open("/incidents");
  const rows = page.getByRole("list", { name: "Incidents" }).locator("[data-incident]");
  await expect(async () => {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    expect(await rows.count()).toBe(1050);
  }).toPass();
  await page.evaluate(() => scrollTo(0, 0));
  await tenant.ask("POST", `/incidents/${id}/acknowledge`, { by: "Ann" });
  await expect(rowOf(page, "press-0").getByTestId("status")).toHaveText("acknowledged by Ann");
  await tenant.report({ device: "saw-1", state: "WARNING4" });
  await expect(rows.first()).toHaveAttribute("data-device", "saw-1");
  await tenant.report({ device: "press-0", state: "NORMAL" });
  await expect(rowOf(page, "press-0")).toHaveCount(0);
  await expect(rows).toHaveCount(1050);
});

test("who was second is told who was first", async ({ board, page, tenant }) => {
  await trouble(tenant);
  const { id } = await opened(tenant, "press-7");
  await named(board, "Liz");
  await board.open("/incidents");
  // Tom is first, between what this page shows and what it asks for.
  await page.route("**/acknowledge", async (route) => {
    await tenant.ask("POST", `/incidents/${id}/acknowledge`, { by: "Tom" });
    await route.continue();
  });
  await rowOf(page, "press-7").getByRole("button", { name: "Acknowledge" }).click();
  await expect(page.getByRole("status").getByText("Tom has acknowledged this incident already")).toBeVisible();
  await expect(rowOf(page, "press-7").getByTestId("status")).toHaveText("acknowledged by Tom");
});

test("a name that the server refuses is asked for again, and can be changed", async ({ board, page, tenant }) => {
  await trouble(tenant);
  await board.open("/incidents");
  const [dialog, name] = [page.getByRole("dialog"), page.getByRole("dialog").getByLabel("Your name")];
  const act = async (device: string, what: string) => rowOf(page, device).getByRole("button", { name: what }).click();
  await act("press-7", "Take");
  await name.fill("x".repeat(140));
  await dialog.getByRole("button", { name: "Take" }).click();
  await expect(dialog.getByRole("alert")).toContainText("more than 128");
  expect(await page.evaluate(() => localStorage.getItem("andon.name"))).toBe("");

  await named(board, "x".repeat(140)); // kept before this was so
  await board.open("/incidents");
  await act("press-7", "Take");
  await expect(dialog.getByRole("alert")).toContainText("more than 128");
  await name.fill("Liz");
  await dialog.getByRole("button", { name: "Take" }).click();
  await expect(rowOf(page, "press-7").getByTestId("operator")).toHaveText("Liz");

  await page.getByRole("button", { name: "Your name: Liz" }).click();
  await name.fill("Sara");
  await dialog.getByRole("button", { name: "Change" }).click();
  await expect(dialog).toBeHidden();
  await act("press-8", "Take");
  await expect(rowOf(page, "press-8").getByTestId("operator")).toHaveText("Sara");
});

test("what flaps and what is latched says so, and is reset", async ({ board, page, tenant }) => {
  await tenant.make({
    states: [
      { name: "NORMAL", severity: 0, letter: "N", colour: "#227733", symbol: "●" },
      { name: "WARNING1", severity: 32, letter: "1", colour: "#bb8800", symbol: "▲" },
      { name: "JAMMED", severity: 50, letter: "J", colour: "#bb2200", symbol: "■", reset: true },
    ],
  });
  await tenant.report({ device: "press-7", state: "JAMMED", time: ago(60) });
  const { id } = await opened(tenant, "press-7");
  let n = 0;
  const flaps = async () => {
    await tenant.report({ device: "saw-1", state: n++ % 2 ? "NORMAL" : "WARNING1" });
    return (await incidents(tenant)).some((i) => i.device === "saw-1" && i.flapping);
  };
  await expect.poll(flaps, { intervals: [150] }).toBe(true);
  await tenant.report({ device: "saw-1", state: "WARNING1" });

  await named(board, "Liz");
  await board.open("/incidents");
  await expect(rowOf(page, "saw-1")).toContainText("flapping");
  await expect(rowOf(page, "press-7")).toContainText("to be reset");
  await rowOf(page, "saw-1").locator("a.id").click();
  await expect(page.locator(".now")).toContainText("flapping");
  await page.locator(".now").getByRole("link", { name: "saw-1" }).click();
  await expect(page.getByRole("list", { name: "Open incidents" })).toContainText("flapping");

  await tenant.report({ device: "press-7", state: "NORMAL" });
  await board.open("/");
  await page.getByRole("link", { name: "1 latched, to be reset" }).click();
  await expect(rowOf(page, "press-7").getByTestId("status")).toContainText("latched");
  await expect(rowOf(page, "press-7")).not.toContainText("to be reset");
  await tenant.ask("POST", `/incidents/${id}/acknowledge`, { by: "Ann" });
  await rowOf(page, "press-7").getByRole("button", { name: "Reset" }).click();
  await expect(rowOf(page, "press-7")).toHaveCount(0);
  expect((await tenant.ask<Incident>("GET", `/incidents/${id}`)).status).toBe("closed");
});

test("all that returned are acknowledged at once, and who was refused is told", async ({ board, page, tenant }) => {
  await trouble(tenant);
  const all = ["press-6", "press-7", "press-8"];
  const { id } = await opened(tenant, "press-7");
  await tenant.report(...all.map((device) => ({ device, state: "NORMAL" })));
  await expect.poll(async () => (await incidents(tenant, "returned")).length).toBe(3);
  await board.open("/incidents?status=returned");
  await page.getByRole("button", { name: "Acknowledge all 3" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByTestId("left")).toHaveText("3");
  await dialog.getByLabel("Your name").fill("Liz");
  await page.route(`**/${id}/acknowledge`, (route) =>
    route.fulfill({
      status: 409,
      contentType: "application/problem+json",
      json: { title: "Conflict", detail: "Tom has acknowledged this incident already" },
    }),
  );
  await dialog.getByRole("button", { name: "Acknowledge" }).click();
  const refused = dialog.getByRole("alert");
  await expect(refused).toContainText("2 are acknowledged, and 1 are not");
  await expect(refused).toContainText("press-7: Tom has acknowledged this incident already");
  expect((await incidents(tenant, "returned")).map((i) => i.device)).toEqual(["press-7"]);

  await page.unroute(`**/${id}/acknowledge`);
  await expect(dialog.getByTestId("left")).toHaveText("1");
  await dialog.getByRole("button", { name: "Acknowledge" }).click();
  await expect(dialog).toBeHidden();
  await expect.poll(async () => incidents(tenant, "returned")).toEqual([]);
  expect(await tenant.ask("GET", `/incidents/${id}`)).toMatchObject({ status: "closed", acknowledged: { by: "Liz" } });
});

test("a dialog has the keyboard before the next key", async ({ board, page, tenant }) => {
  await trouble(tenant);
  await board.open("/incidents");
  await rowOf(page, "press-7").locator("a.id").focus();
  for (const [key, field] of [["e", "person"], ["s", "reason"]]) {
    // Before the browser draws: what a fast typist presses next comes then.
    const has = await page.evaluate(async (key) => {
      document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      await Promise.resolve();
      return document.activeElement?.getAttribute("name");
    }, key);
    expect(has).toBe(field);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  }
});

test("one key each", async ({ board, page, tenant }) => {
  await trouble(tenant);
  await board.open("/incidents");
  await expect(rowOf(page, "press-6")).toBeVisible();

  // The first key only shows which incident the next one is about.
  await page.keyboard.press("a");
  await expect(rowOf(page, "press-7").locator("a.id")).toBeFocused();
  await page.keyboard.press("a");
  await expect(page.getByRole("dialog").getByLabel("Your name")).toBeFocused();
  await page.keyboard.type("Liz");
  await page.keyboard.press("Enter");
  await expect(rowOf(page, "press-7").getByTestId("status")).toHaveText("acknowledged by Liz");

  await page.keyboard.press("j");
  await expect(rowOf(page, "press-8").locator("a.id")).toBeFocused();
  await page.keyboard.press("t");
  await expect(rowOf(page, "press-8").getByTestId("operator")).toHaveText("Liz");
  await expect.poll(async () => (await tenant.device("press-8")).operator).toBe("Liz");

  await page.keyboard.press("e");
  await expect(page.getByRole("dialog").getByLabel("Supervisor")).toBeFocused();
  await page.keyboard.type("Sara");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect.poll(async () => (await tenant.device("press-8")).escalated_to).toBe("Sara");

  await page.keyboard.press("s");
  await expect(page.getByRole("dialog").getByLabel("Reason")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog"), "a reason is required").toBeVisible();
  await page.keyboard.type("waits for a part");
  await page.keyboard.press("Enter");
  await expect(rowOf(page, "press-8")).toHaveCount(0);
  await expect(rowOf(page, "press-6").locator("a.id"), "the next one has the focus").toBeFocused();
  const [shelved] = await incidents(tenant, "shelved");
  expect(shelved?.shelved).toMatchObject({ by: "Liz", reason: "waits for a part" });

  const chips = page.getByRole("group", { name: "Incidents by status" });
  await chips.getByRole("button", { name: /^shelved/ }).click();
  await expect(rowOf(page, "press-8")).toBeVisible();
  await rowOf(page, "press-8").locator("a.id").focus();
  await page.keyboard.press("s");
  await expect(rowOf(page, "press-8")).toHaveCount(0);
  expect(await incidents(tenant, "shelved")).toEqual([]);
});

test("one incident tells its steps, and those that come", async ({ board, page, tenant, another }) => {
  await trouble(tenant);
  const { id } = await opened(tenant, "press-7");
  await named(board, "Liz");
  await board.open("/incidents");
  await rowOf(page, "press-7").locator("a.id").click();
  await expect(page).toHaveURL(new RegExp(`/incidents/${id}`));
  const steps = page.getByRole("table", { name: "Steps" });
  await expect(steps).toContainText("opened");
  await expect(page.getByRole("main")).toContainText("press-7");

  const second = await another();
  await second.open(`/incidents/${id}`);
  await page.keyboard.press("c");
  await page.getByRole("dialog").getByLabel("Note").fill("the fuse is out");
  await page.keyboard.press("Enter");
  await expect(second.page.getByRole("table", { name: "Steps" })).toContainText("the fuse is out", within());
  await expect(page.getByRole("dialog")).toBeHidden(); // until then the keys are its own
  await page.keyboard.press("a");
  await expect(second.page.getByTestId("status")).toHaveText("acknowledged", within());

  await tenant.report({ device: "press-7", state: "NORMAL" });
  await expect(page.getByTestId("status")).toHaveText("closed");
  await expect(page.getByRole("group", { name: /^What to do/ }).getByRole("button")).toHaveCount(0);
  await expect(steps.locator("[data-what]").first()).toContainText("closed");
});

test("with a thumb on a phone", async ({ another, tenant }) => {
  await trouble(tenant);
  const board = await another({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const { page } = board;
  await board.open("/devices/press-7");
  await expect(page.locator("[data-incident]")).toBeVisible();
  expect(await stickingOut(page)).toEqual([]);
  expect(await narrowTargets(page, "header, .now, .incident-rows")).toEqual([]);
  const row = rowOf(page, "press-7");
  for (const path of ["/", "/incidents"]) {
    await board.open(path);
    await expect(row).toBeVisible();
    expect(await stickingOut(page), path).toEqual([]);
    expect(await narrowTargets(page, "header, .first-incidents, .incidents"), path).toEqual([]);
  }
  await row.getByRole("button", { name: "Shelve" }).tap();
  const dialog = page.getByRole("dialog");
  expect(await narrowTargets(page, "dialog")).toEqual([]);
  await dialog.getByLabel("Reason").fill("known");
  await dialog.getByLabel("For").selectOption("4h");
  await dialog.getByLabel("Your name").fill("Liz");
  await dialog.getByRole("button", { name: "Shelve" }).tap();
  await expect(row).toHaveCount(0);
  await rowOf(page, "press-6").locator("a.id").tap();
  await expect(page.getByRole("table", { name: "Steps" })).toBeVisible();
  expect(await stickingOut(page)).toEqual([]);
  expect(await narrowTargets(page, ".deeds")).toEqual([]);
});

for (const theme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${theme}`, async ({ board, page, tenant }) => {
    await trouble(tenant);
    const { id } = await opened(tenant, "press-7");
    for (const path of ["/", "/incidents", `/incidents/${id}`, "/devices/press-7", "/wall"]) {
      await board.open(path);
      await inTheme(page, theme);
      await expect(page.locator("[data-incident]").first()).toBeVisible();
      await expect(page.getByRole("main")).toContainText("press-7");
      expect.soft(await grave(page), `${path}: axe finds nothing serious`).toEqual([]);
    }
  });
}

test("where none are kept the board shows nothing of them", async ({ page }) => {
  const server = await Server.serve("--incidents=off");
  try {
    const refused: string[] = [];
    page.on("response", (r) => r.status() >= 400 && refused.push(`${r.status()} ${r.url()}`));
    const board = new Board(page, new Tenant(server, "default"));
    await board.open("/");
    await expect(page.getByRole("navigation", { name: "Views" })).not.toContainText("Incidents");
    await board.open("/incidents");
    await expect(page.getByRole("main")).toContainText("This server keeps no incidents");
    for (const path of ["/on-call", "/maintenance", "/reports", "/wall", "/devices/none"]) {
      await board.open(path);
    }
    expect(refused.filter((r) => !r.includes("/devices/none")), "nothing is asked for in vain").toEqual([]);
  } finally {
    await server.close();
  }
});
