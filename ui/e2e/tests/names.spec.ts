import type { Page } from "@playwright/test";
import { stickingOut } from "../board.ts";
import { expect, test } from "../test.ts";

const names = {
  markup: "<script>window.broken=1</script>",
  image: '<img src=x onerror="window.broken=1">',
  "right to left": "مضخة-٧",
  "overriding the direction": "pump\u202e-7",
  emoji: "🏭👩‍🔧-1",
  "128 bytes": "d".repeat(128),
  "128 bytes of emoji": "🔧".repeat(32),
  "marks of addresses": "a/b?c=d#e%2F&f+g",
  quotes: `"it's"\\`,
  spaces: "press  7 ",
};

for (const [what, name] of Object.entries(names)) {
  test(`names are text: ${what}`, async ({ board, page, tenant, watch }) => {
    const state = "WARNING2";
    await tenant.report({ device: name, state, operator: name, message: name });
    const row = board.row(name);
    await expect(row).toBeVisible();
    expect((await row.textContent())?.replaceAll(/[\u2066-\u2069]/g, "")).toContain(name);

    await row.getByRole("link").first().click();
    const title = page.getByRole("heading", { level: 1 });
    await expect.poll(async () => (await title.textContent()) ?? "").toContain(name);
    expect(decodeURIComponent(new URL(page.url()).pathname)).toBe(`/devices/${name}`);
    await expect(page.getByTestId("operator")).toContainText(name.trim().slice(0, 8));
    await nothingSticksOut(page);

    await page.reload(); // the address alone says the same
    await expect.poll(async () => (await title.textContent()) ?? "").toContain(name);
    await page.getByTestId("operator").getByRole("link").click();
    await expect(page.getByRole("main")).toHaveAttribute("data-view", "operator");
    await expect.poll(async () => (await title.textContent()) ?? "").toContain(name);
    await nothingSticksOut(page);
    expect(await page.evaluate(() => "broken" in window)).toBe(false);
    expect(watch.take()).toEqual([]);
  });
}

async function nothingSticksOut(page: Page): Promise<void> {
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 });
    await expect.poll(() => stickingOut(page), { message: `wider than ${width}` }).toEqual([]);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

for (const operator of [
  "maximiliane.musterfrau-schmidt@maintenance.example.org",
  "x".repeat(120),
]) {
  test(`an operator with ${operator.length} letters fits on a phone`, async ({ board, page, tenant }) => {
    await tenant.report({ device: "press-7", state: "WARNING2", operator });
    await tenant.ask("POST", "/devices/press-7/escalations", { to: operator, by: operator });
    await expect(board.incidents).toHaveCount(1);
    await page.setViewportSize({ width: 360, height: 740 });
    const lastParts = {
      "/": page.getByRole("table", { name: "Not normal" }),
      "/incidents": page.getByRole("list", { name: "Incidents" }),
      "/search": page.getByRole("list", { name: "Supervisors" }),
      [`/operators/${operator}`]: page.getByRole("table", { name: "Entries" }),
      "/devices/press-7": page.getByRole("table", { name: "Who answered for it" }),
    };
    for (const [path, last] of Object.entries(lastParts)) {
      await board.open(path);
      await expect(last).toContainText(path === "/incidents" ? "press-7" : operator);
      expect.soft(await stickingOut(page), path).toEqual([]);
    }
  });
}
