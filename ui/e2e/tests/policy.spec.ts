import { expect, test } from "../test.ts";

test("the answers keep to a strict policy", async ({ board, tenant, request }) => {
  const page = await request.get(tenant.address(), { headers: { Accept: "text/html" } });
  const policy = page.headers()["content-security-policy"] ?? "";
  expect(policy).toContain(`default-src 'none'`);
  expect(policy).toContain(`script-src 'self'`);
  expect(policy).toContain(`frame-ancestors 'none'`);
  expect(policy).not.toContain("unsafe");
  expect(page.headers()["x-content-type-options"]).toBe("nosniff");
  expect(page.headers()["cache-control"]).toContain("no-cache");

  const scripts = await board.page
    .locator("script[src]")
    .evaluateAll((all) => all.map((s) => (s as HTMLScriptElement).src));
  expect(scripts.length).toBeGreaterThan(0);
  for (const script of scripts) {
    const answer = await request.get(script, { headers: { "Accept-Encoding": "br" } });
    expect(answer.headers()["cache-control"]).toContain("immutable");
    expect(answer.headers()["content-encoding"]).toBe("br");
  }
});

test("what the policy forbids does not happen, and is noticed", async ({ board, page, watch }) => {
  await board.live();
  expect(watch.take()).toEqual([]);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.broken = 1";
    document.body.append(script);
  });
  expect(await page.evaluate(() => "broken" in window)).toBe(false);
  const found: string[] = [];
  await expect
    .poll(() => {
      found.push(...watch.take());
      return [...new Set(found.map((what) => what.split(":")[0]))].sort();
    })
    .toEqual(["against the policy", "on the console"]);
});

test("script is under 60 KB compressed, and the fleet needs no charts", async ({ board, page }) => {
  const sizes: Record<string, number> = {};
  page.on("response", async (r) => {
    if (r.request().resourceType() === "script")
      sizes[r.url()] = Number(r.headers()["content-length"]);
  });
  await page.reload();
  await board.live();
  await expect.poll(() => Object.keys(sizes).length).toBeGreaterThan(0);
  const sum = Object.values(sizes).reduce((a, b) => a + b, 0);
  console.log(`script of the fleet, compressed: ${sum} bytes`);
  expect(sum).toBeGreaterThan(1000);
  expect(sum).toBeLessThan(60_000);
});
