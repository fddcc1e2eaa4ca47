import type { Page } from "@playwright/test";
import { expect, test } from "../test.ts";

/** tabTo presses Tab until what has the focus matches a selector and begins with a text. */
async function tabTo(page: Page, selector: string, text = ""): Promise<void> {
  const most = 80;
  for (let i = 0; i < most; i++) {
    await page.keyboard.press("Tab");
    const there = await page.evaluate(([s, t]) => {
      const at = document.activeElement;
      if (!at?.matches(s) || !at.textContent?.startsWith(t)) return false;
      const style = getComputedStyle(at);
      const marked = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none";
      return marked || style.boxShadow !== "none" ? "seen" : "unseen";
    }, [selector, text] as const);
    if (there) {
      expect(there, `the focus on ${selector} can be seen`).toBe("seen");
      return;
    }
  }
  throw new Error(`Tab does not come to ${selector} ${text}`);
}

test("the main job by keyboard alone", async ({ page, tenant, board }) => {
  await tenant.report(
    { device: "press-6", state: "WARNING1" },
    { device: "press-7", state: "WARNING4", message: "stopped" },
  );
  await expect(board.row("press-7")).toBeVisible();

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();

  await tabTo(page, '.trouble [data-device="press-7"] a');
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("press-7");

  await board.byKeyboard("Assign", ["Liz"], (text) => tabTo(page, "button", text));
  await expect.poll(async () => (await tenant.device("press-7")).operator).toBe("Liz");
  await board.byKeyboard("Escalate", ["Sara"], (text) => tabTo(page, "button", text));
  await expect.poll(async () => (await tenant.device("press-7")).escalated_to).toBe("Sara");
});

test("the map is reached and walked by keyboard", async ({ page, tenant, board }) => {
  await tenant.report(
    ...Array.from({ length: 60 }, (_, i) => ({ device: `d-${100 + i}`, state: "NORMAL" })),
  );
  await board.showsCount("NORMAL", 60);
  await board.focusMap();
  const seen = new Set<string>();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"]) {
    await page.keyboard.press(key);
    const cell = page.getByTestId("cell");
    await expect(cell).toContainText(/d-1\d\d/);
    seen.add(/d-1\d\d/.exec(await cell.innerText())?.[0] ?? "");
  }
  expect(seen.size).toBeGreaterThanOrEqual(2);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(/d-1\d\d/);
});

test("who wants less motion gets none", async ({ another, tenant }) => {
  const board = await another({ reducedMotion: "reduce" });
  await tenant.report({ device: "press-7", state: "WARNING4" });
  await expect(board.row("press-7")).toBeVisible();
  const moving = await board.page.evaluate(
    () =>
      document
        .getAnimations()
        .filter(
          (a) => a.playState === "running" && Number(a.effect?.getComputedTiming().duration) > 1,
        ).length,
  );
  expect(moving).toBe(0);
});
