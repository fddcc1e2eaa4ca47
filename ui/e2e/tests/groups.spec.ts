import { expect, test } from "../test.ts";

test("the tree of groups and the devices of one", async ({ board, page, tenant }) => {
  await tenant.report(
    { device: "press-1", state: "NORMAL" },
    { device: "press-2", state: "WARNING2" },
    { device: "saw-1", state: "NORMAL" },
  );
  await tenant.ask("POST", "/groups/devices", [
    { device: "press-1", group: "plant-1/hall-1" },
    { device: "press-2", group: "plant-1/hall-2" },
  ]);
  await board.open("/groups");
  const plant = page.locator('[data-group="plant-1"]');
  await expect(plant.getByTestId("devices")).toHaveText("2");
  await expect(plant.locator('[data-state="WARNING2"]')).toContainText("1");
  await plant.getByRole("link").click();
  await expect(page.locator("[data-group]")).toHaveCount(2);
  await expect(board.rows).toHaveCount(2);
  await tenant.report({ device: "press-1", state: "WARNING3" });
  await expect(page.locator('[data-group="plant-1/hall-1"] [data-state="WARNING3"]')).toContainText("1");
  await expect(board.rows.first()).toHaveAttribute("data-device", "press-1");

  await board.open("/groups?group=none");
  await expect(board.rows).toHaveCount(1);
  await expect(board.rows).toHaveAttribute("data-device", "saw-1");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("In no group");
  await expect(page.getByRole("alert")).toHaveCount(0);
});
