import type { BrowserContext, Page } from "@playwright/test";

/**
 * Watch writes down what no page of the board may do, whatever the test is about: break the
 * Content-Security-Policy, ask another host, or throw.
 */
export class Watch {
  private found: string[] = [];

  async over(context: BrowserContext): Promise<void> {
    await context.exposeBinding("policyBroken", (_, what: string) => {
      this.found.push(`against the policy: ${what}`);
    });
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (e) => {
        const tell = (globalThis as unknown as { policyBroken(what: string): void }).policyBroken;
        tell(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`);
      });
    });
    context.on("page", (page) => this.follow(page));
    for (const page of context.pages()) this.follow(page);
  }

  private follow(page: Page): void {
    page.on("pageerror", (e) => this.found.push(`thrown: ${e.stack ?? e.message}`));
    page.on("console", (m) => {
      // That an answer was an error is said there too; the tests decide which may be.
      if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) {
        this.found.push(`on the console: ${m.text()}`);
      }
    });
    page.on("request", (r) => {
      const url = new URL(r.url());
      const here = ["127.0.0.1", "localhost"].includes(url.hostname);
      if (url.protocol.startsWith("http") && !here) this.found.push(`another host: ${r.url()}`);
    });
  }

  /** take returns what was found since it was asked last. */
  take(): string[] {
    return this.found.splice(0);
  }
}
