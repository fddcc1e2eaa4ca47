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
    const { items } = await day.factory.ask<{ items: { id: string }[] }>("GET", "/incidents?status=unacknowledged&limit=2");
    const [first, second] = items.map((i) => `/incidents/${i.id}`);
    await day.factory.ask("POST", `${first}/acknowledge`, { by: "Tom" });
    await day.factory.ask("POST", `${second}/comment`, { by: "Zoe", note: "the new motor is on its way" });
    const board = new Board(page, day.factory);
    await board.open();
    await expect(page.getByText("the new motor is on its way")).toBeVisible();
    await expect(board.rows.nth(8)).toBeVisible();
    await page.screenshot({ path: picture, animations: "disabled" });
    expect((await stat(picture)).size).toBeLessThan(most);
  } finally {
    await day.server.close();
  }
});
