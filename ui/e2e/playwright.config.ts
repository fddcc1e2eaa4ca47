import { defineConfig } from "@playwright/test";

/** The one that chromium.sh found: Playwright downloads none. */
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

/**
 * Tests wait for what they wait for, so the limits only end what hangs. They hold on a machine that
 * is several times as slow as a desk's.
 */
const second = 1000;

export default defineConfig({
  testDir: "tests",
  forbidOnly: process.env.CI === "true",
  fullyParallel: true,
  workers: 3, // of two cores: much of a test is waiting
  retries: 0,
  reporter: [["list"]],
  timeout: 180 * second,
  expect: { timeout: 30 * second },
  use: {
    actionTimeout: 45 * second,
    navigationTimeout: 60 * second,
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    viewport: { width: 1440, height: 900 },
    screenshot: "only-on-failure",
    // A trace films each page, which takes more time than the page. Ask for one where a test fails:
    // ui/e2e/run.sh --trace=retain-on-failure.
    trace: "off",
    launchOptions: {
      executablePath: chromium,
      // In a container /dev/shm is often too small for a browser; memory is reported exactly.
      args: ["--disable-dev-shm-usage", "--enable-precise-memory-info", "--js-flags=--expose-gc"],
    },
  },
  projects: [
    // First: these take one worker for the whole time, and the others do the rest meanwhile.
    { name: "views", testMatch: /views\.spec\.ts/ },
    { name: "board", testIgnore: /(start|load|views|picture)\.spec\.ts/ },
    // Alone, one after the other: they measure.
    { name: "load", testMatch: /(start|load)\.spec\.ts/, workers: 1 },
    // Not a test: it takes the picture of the README.
    { name: "picture", testMatch: /picture\.spec\.ts/ },
  ],
});
