import { expect } from "@playwright/test";
import { Server } from "./server.ts";
import { ago, type Shown, Tenant } from "./tenant.ts";

/** Day is a simulated factory on a bad day, and what of it is worth showing. */
export class Day {
  worst = "";
  operator = "";
  supervisor = "";
  incident = "";

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
    await day.plan();
    return day;
  }

  /** plan lets people take turns, plan maintenance, and say what they do about the worst device. */
  private async plan(): Promise<void> {
    const ask = (method: string, path: string, body?: unknown) => this.factory.ask(method, path, body);
    const people = ["Liz", "Sara", "Tom"];
    for (const name of people) await ask("PUT", `/people/${name}`, { zone: "Europe/Berlin" });
    const week = { from: ago(9 * 86_400).slice(0, 10), turn: "7d", hand_over: "06:00" };
    await ask("PUT", "/schedules/line-3", {
      zone: "Europe/Berlin",
      layers: [{ people, ...week }],
      overrides: [{ from: ago(-86_400), to: ago(-3 * 86_400), person: "Tom", reason: "Sara is ill" }],
    });
    await ask("PUT", "/schedules/night", {
      zone: "Europe/Berlin",
      layers: [{ people: ["Tom", "Liz"], ...week, turn: "1d", hours: ["mon-fri 00:00-24:00"] }],
    });
    await ask("PUT", "/rules/too-hot", {
      when: { metric: "temperature", op: ">", value: 500 }, for: "2m", clear_value: 450, state: "WARNING2",
    });
    await ask("PUT", "/rules/strained", {
      match: { group: "plant-1" }, when: { expr: "current / temperature > 900" }, state: "WARNING1",
      disabled: "by Andon, after 10 errors in a row, the last: division by zero",
    });
    const zone = "Europe/Berlin";
    await ask("PUT", "/maintenance/oil-change", {
      prefix: "line-2-", start: ago(86_400), length: "4h", rrule: "FREQ=WEEKLY", zone, by: "Liz",
    });
    await ask("PUT", "/maintenance/bricks", {
      devices: [this.worst], start: ago(600), length: "2d", note: "new bricks for the oven", by: "Tom",
    });
    await ask("PUT", "/maintenance/cleaning", {
      group: "plant-1", start: ago(-3600), length: "30m", rrule: "FREQ=DAILY", zone, note: "night shift",
    });
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
      const open = await this.factory.ask<{ items: { id: string }[] }>("GET", "/incidents?limit=1");
      this.incident = open.items[0]?.id ?? "";
      return this.incident !== "";
    };
    await expect.poll(find, { timeout: 180_000 }).toBe(true);
  }
}
