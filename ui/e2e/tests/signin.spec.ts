import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Board, deviceAt } from "../board.ts";
import { Server } from "../server.ts";
import { Tenant } from "../tenant.ts";
import { expect, test } from "../test.ts";

const token = "a-token-of-32-characters-or-more-0123456789";

/** withToken runs a test against a server that asks for the token. */
async function withToken(run: (server: Server) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "andon-token-"));
  const file = join(dir, "token");
  await writeFile(file, token, { mode: 0o600 });
  const server = await Server.serve("--token-file", file);
  try {
    await run(server);
  } finally {
    await server.close();
    await rm(dir, { recursive: true });
  }
}

test("a token signs in, and signing out ends it", async ({ page, context }) => {
  await withToken(async (server) => {
    const tenant = new Tenant(server, "default", token);
    await tenant.report({ device: "press-7", state: "WARNING2" });
    const board = new Board(page, tenant);
    const field = page.getByLabel("Token");
    const enter = page.getByRole("button", { name: "Sign in" });

    await page.goto(tenant.address(deviceAt("press-7")));
    await expect(field).toBeVisible();
    await expect(field).toHaveAttribute("type", "password");
    await expect(page.getByRole("main")).not.toContainText("WARNING2");

    await field.fill("a wrong one");
    await enter.click();
    await expect(page.getByRole("alert")).toBeVisible();
    await expect(field).toBeVisible();

    // It is the view that was asked for. After a wrong token the server wants a second of patience.
    await expect(async () => {
      await field.fill(token);
      await enter.click();
      await expect(page.getByRole("heading", { level: 1 })).toContainText("press-7", {
        timeout: 3000,
      });
    }).toPass();
    await tenant.report({ device: "press-7", state: "WARNING3" });
    await expect(page.getByTestId("state")).toContainText("WARNING3");
    await board.assign("Liz");
    await expect.poll(async () => (await tenant.device("press-7")).operator).toBe("Liz");

    const cookies = await context.cookies();
    expect(cookies).toHaveLength(1);
    expect(cookies[0]).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
    const kept = await page.evaluate(() =>
      JSON.stringify([localStorage, sessionStorage, location]),
    );
    expect(kept + JSON.stringify(cookies)).not.toContain(token);

    await page.reload(); // still signed in
    await expect(page.getByTestId("state")).toContainText("WARNING3");

    const answered = page.waitForResponse((r) => r.request().method() === "DELETE");
    await page.getByRole("button", { name: "Sign out" }).click();
    expect((await answered).ok()).toBe(true);
    await expect(field).toBeVisible();
    const refused = await page.evaluate(async () => (await fetch("/api/v1/states")).status);
    expect(refused).toBe(401);
  });
});

test("signing out while the server is down says that it was not done", async ({ page }) => {
  await withToken(async (server) => {
    await page.goto(server.url);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    const out = page.getByRole("button", { name: "Sign out" });
    await expect(out).toBeVisible();
    await server.kill();
    await out.click();
    await expect(page.getByRole("status").getByText("You are not signed out")).toBeVisible();
    await server.again();
    await out.click();
    await expect(page.getByLabel("Token")).toBeVisible();
  });
});

test("signing out forgets who it was, in all tabs", async ({ page, context }) => {
  await withToken(async (server) => {
    const tenant = new Tenant(server, "default", token);
    await tenant.report({ device: "press-7", state: "WARNING2" });
    const signIn = async () => {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    const take = () => page.locator("[data-act=take]").click();
    const dialog = page.getByRole("dialog");

    await page.goto(tenant.address("/incidents"));
    await signIn();
    await take();
    await dialog.getByLabel("Your name").fill("Liz");
    await dialog.getByRole("button", { name: "Take" }).click();
    await expect(page.getByTestId("operator")).toHaveText("Liz");
    const tab = await context.newPage();
    await tab.goto(tenant.address("/incidents"));
    await expect(tab.getByRole("button", { name: "Your name: Liz" })).toBeVisible();

    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn();
    await expect(tab.getByRole("button", { name: "Your name" })).toHaveCount(0);
    await take();
    await expect(dialog.getByLabel("Your name")).toHaveValue("");
  });
});
