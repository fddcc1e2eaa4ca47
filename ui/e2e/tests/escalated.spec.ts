import { deviceAt } from "../board.ts";
import { expect, test } from "../test.ts";

test("the supervisor reads the note, who escalated and when, wherever the device is shown", async ({
  board,
  page,
  tenant,
}) => {
  await tenant.report({ device: "press-7", state: "WARNING3", operator: "Liz", message: "smoke" });
  await board.open(deviceAt("press-7"));
  await board.escalate("Sara", "belt slips again", "Kim");
  const says = /belt slips again.*by Kim, \d\d:\d\d:\d\d/;
  const note = page.locator(".now").getByTestId("escalation");
  await expect(note, "on the device's page").toHaveText(says);
  for (const table of ["Entries", "Who answered for it"]) {
    await expect(page.getByRole("table", { name: table }), table).toContainText("belt slips again");
  }
  for (const [path, tables] of [
    ["/", ["Not normal"]],
    ["/supervisors/Sara", ["Mine now", "Entries"]],
    ["/operators/Liz", ["Mine now", "Entries"]],
    ["/search?search=RESS-7", ["Devices"]],
  ] as const) {
    await board.open(path);
    for (const table of tables) {
      const row = page.getByRole("table", { name: table, exact: true }).locator("[data-device=press-7]");
      await expect(row.getByTestId("escalation"), `${table} of ${path}`).toHaveText(says);
    }
  }
  await board.open("/wall?show=trouble");
  await expect(board.row("press-7").getByTestId("escalation")).toHaveText(says);
});

test("a second note to the same supervisor takes the place of the first", async ({ board, page, tenant, another }) => {
  await tenant.report({ device: "press-7", state: "WARNING3", message: "smoke" });
  const second = await another();
  await second.open("/supervisors/Sara");
  await board.open(deviceAt("press-7"));
  await board.escalate("Sara", "the first note", "Kim");
  await board.escalate("Sara", "the second note", "Kim");
  const answered = page.getByRole("table", { name: "Who answered for it" }).locator("[data-does]");
  await expect(answered).toHaveText([/the second note/, /the first note/], { timeout: 3000 });
  for (const table of ["Mine now", "Entries"]) {
    const row = second.page.getByRole("table", { name: table, exact: true }).locator("[data-device=press-7]");
    await expect(row.getByTestId("escalation")).toContainText("the second note", { timeout: 10_000 });
  }
});

test("what was just done is on the page at once", async ({ board, page, tenant }) => {
  await tenant.report({ device: "press-7", state: "WARNING3" });
  await board.open(deviceAt("press-7"));
  const answered = page.getByRole("table", { name: "Who answered for it" }).locator("[data-does]");
  // Several times, since it also depends on when in a second it is done.
  for (let n = 1; n <= 4; n++) {
    await board.assign(`Operator ${n}`);
    await expect(answered.first()).toContainText(`Operator ${n}`, { timeout: 2000 });
    await board.escalate(`Supervisor ${n}`, `note ${n}`);
    await expect(answered.first()).toContainText(`Supervisor ${n}`, { timeout: 2000 });
  }
  await tenant.report({ device: "press-7", state: "WARNING4", message: "it stopped" });
  const entries = page.getByRole("table", { name: "Entries" });
  await expect(entries).toContainText("it stopped", { timeout: 3000 });
});

test("the supervisor's lists follow while they are looked at", async ({ board, page, tenant }) => {
  await tenant.report({ device: "press-7", state: "WARNING3" }, { device: "press-8", state: "WARNING1" });
  await board.open("/supervisors/Sara");
  const list = (name: string) => page.getByRole("table", { name, exact: true }).locator("[data-device]");
  await expect(page.getByText(/^No entries/)).toBeVisible();
  for (const device of ["press-7", "press-8"]) {
    await tenant.ask("POST", `/devices/${device}/escalations`, { to: "Sara", by: "Kim" });
    for (const name of ["Mine now", "Entries"]) {
      const row = list(name).filter({ has: page.getByRole("link", { name: device }) });
      await expect(row).toBeVisible({ timeout: 10_000 });
    }
  }
  await tenant.ask("POST", "/devices/press-7/escalations", { to: null, by: "Kim" });
  for (const name of ["Mine now", "Entries"]) await expect(list(name)).toHaveCount(1, { timeout: 10_000 });
});
