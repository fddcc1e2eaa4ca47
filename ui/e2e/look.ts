import { expect, type Page } from "@playwright/test";
import axe from "axe-core";

/** grave lists what axe finds in a page that is serious, in the theme that it has. */
export async function grave(page: Page): Promise<string[]> {
  // It comes from the debugger, so the page's policy does not apply to it.
  await page.evaluate(axe.source);
  // What passes is not looked at, and to describe it takes as long as to find it.
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({
      resultTypes: ["violations"],
      preload: false,
    }),
  );
  return violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.map((n) => n.html).join(" ")}`);
}

/** inTheme gives a page a theme, and waits until it has it. */
export async function inTheme(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
}

/**
 * narrowTargets lists what a thumb hits badly: buttons, fields, and links that stand alone, of a part,
 * that are below 44 pixels. Links within text and in cells of tables may be lower (WCAG 2.5.8).
 */
export async function narrowTargets(page: Page, part: string): Promise<string[]> {
  const targets = "button:not(.linkish), input:not([type=checkbox]), select, .incident-rows a, nav a, h2 a";
  return page.locator(`:is(${part}) :is(${targets})`).evaluateAll((all) =>
    all
      .map((e) => ({ text: e.textContent, box: e.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && (box.height < 43.5 || box.width < 43.5))
      .map(({ text, box }) => `${text}: ${Math.round(box.width)}x${Math.round(box.height)}`),
  );
}
