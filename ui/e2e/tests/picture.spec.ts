import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Board } from "../board.ts";
import { Day } from "../day.ts";
import { expect, test } from "../test.ts";

const picture = fileURLToPath(new URL("../../../docs/board.png", import.meta.url));
const most = 300_000; // bytes: a README is read on phones, too

test.use({ colorScheme: "dark", contextOptions: { reducedMotion: "reduce" } });

test("the picture of the README", async ({ page }) => {
  test.setTimeout(300_000);
  const day = await Day.begin();
  try {
    const board = new Board(page, day.factory);
    await board.open();
    await expect(board.rows.nth(8)).toBeVisible();
    await page.screenshot({ path: picture, animations: "disabled" });
    expect((await stat(picture)).size).toBeLessThan(most);
  } finally {
    await day.server.close();
  }
});
