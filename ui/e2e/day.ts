import { expect } from "@playwright/test";
import { Server } from "./server.ts";
import { type Shown, Tenant } from "./tenant.ts";

/** Day is a simulated factory on a bad day, and what of it is worth showing. */
export class Day {
  worst = "";
  operator = "";
  supervisor = "";

  private constructor(
    readonly server: Server,
    readonly factory: Tenant,
    /** A tenant without devices. */
    readonly empty: Tenant,
  ) {}

  /** begin starts the demo, and waits until people have their hands full with it. */
  static async begin(): Promise<Day> {
    // It lives five times as fast as the clock, so that troubles last minutes.
    const server = await Server.demo("--devices", "1200", "--speed", "5", "--seed", "1");
    const day = new Day(server, new Tenant(server, "default"), new Tenant(server, "empty"));
    await day.empty.make();
    await day.look();
    return day;
  }

  /** look picks the worst device that people look after: an hour ago it was another one. */
  async look(): Promise<void> {
    const path = "/devices?state=WARNING*&sort=severity&limit=200";
    const find = async () => {
      const { items } = await this.factory.ask<{ items: Shown[] }>("GET", path);
      const worst = items.find((d) => d.operator && d.escalated_to);
      if (items.length < 20 || !worst?.operator || !worst.escalated_to) return false;
      [this.worst, this.operator, this.supervisor] = [
        worst.device,
        worst.operator,
        worst.escalated_to,
      ];
      return true;
    };
    await expect.poll(find, { timeout: 180_000 }).toBe(true);
  }
}
