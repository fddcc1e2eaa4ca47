import { expect, type Locator, type Page } from "@playwright/test";
import type { Tenant } from "./tenant.ts";

/** The board in a page: how its parts are found, in one place. */
export class Board {
  readonly rows: Locator;
  readonly incidents: Locator;
  readonly lost: Locator;
  readonly map: Locator;

  constructor(
    readonly page: Page,
    readonly tenant: Tenant,
  ) {
    this.rows = page.locator("[data-device]:not([data-incident])");
    this.incidents = page.locator("[data-incident]");
    this.lost = page.getByTestId("lost");
    this.map = page.getByRole("application", { name: "Map of all devices" });
  }

  /** open goes to a view and waits until it follows the server. */
  async open(path = "/"): Promise<void> {
    await this.page.goto(this.tenant.address(path));
    await this.live();
  }

  async live(): Promise<void> {
    await expect(this.page.locator("html")).toHaveAttribute("data-live", "live");
  }

  tile(state: string): Locator {
    const tiles = this.page.getByRole("list", { name: "Devices by state" });
    return tiles.locator(`[data-state="${state}"]`);
  }

  /** count is what the tile of a state says. */
  count(state: string): Locator {
    return this.tile(state).locator("[data-count]");
  }

  /** row is a device, not one of its incidents, in the list of what is not normal. */
  row(device: string): Locator {
    return this.rows.and(this.page.locator(`[data-device=${JSON.stringify(device)}]`));
  }

  async showsCount(state: string, n: number): Promise<void> {
    await expect(this.count(state)).toHaveAttribute("data-count", String(n));
  }

  /** assign fills in the form on a device's page. */
  async assign(operator: string, { refused = false } = {}): Promise<void> {
    await this.form("Assign", { Operator: operator }, refused);
  }

  async escalate(supervisor: string, note: string, by = ""): Promise<void> {
    await this.form("Escalate", { Supervisor: supervisor, Note: note, "Your name": by });
  }

  async withdrawEscalation(): Promise<void> {
    await this.page.locator("[data-act=withdraw-escalation]").click();
    await this.send("Withdraw", {});
  }

  /** form opens a form by its button, fills it in, and sends it. */
  private async form(name: string, fields: Record<string, string>, refused = false): Promise<void> {
    await this.page.getByRole("button", { name: new RegExp(`^${name}`) }).click();
    await this.send(name, fields, refused);
  }

  /** withdrawEntry takes back the newest entry of a device's page. */
  async withdrawEntry(note: string): Promise<void> {
    await this.page.locator("[data-act=withdraw]").first().click();
    await this.send("Withdraw", { Note: note });
  }

  private async send(
    name: string,
    fields: Record<string, string>,
    refused = false,
  ): Promise<void> {
    const dialog = this.page.getByRole("dialog");
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text);
    await dialog.getByRole("button", { name: new RegExp(`^${name}`) }).click();
    if (!refused) await expect(dialog).toBeHidden();
  }

  /** byKeyboard fills in a form without a pointer; tabTo goes to the button that begins with a text. */
  async byKeyboard(
    name: string,
    texts: string[],
    tabTo: (text: string) => Promise<void>,
  ): Promise<void> {
    await tabTo(name);
    await this.page.keyboard.press("Enter");
    await expect(this.page.getByRole("dialog")).toBeVisible();
    for (const text of texts) await this.page.keyboard.type(text); // the first field has the focus
    await this.page.keyboard.press("Enter");
    await expect(this.page.getByRole("dialog")).toBeHidden();
  }

  async focusMap(): Promise<void> {
    await this.map.focus();
    await expect(this.map).toBeFocused();
  }
}

/** deviceAt is the address of a device's page. */
export function deviceAt(id: string): string {
  return `/devices/${encodeURIComponent(id)}`;
}

/** stickingOut lists what makes a page wider than its window. */
export async function stickingOut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    return [...document.querySelectorAll("body *")]
      .filter((e) => e.getBoundingClientRect().right > clientWidth + 1)
      .map((e) => `${e.tagName.toLowerCase()}.${e.className}`)
      .slice(0, 12);
  });
}
