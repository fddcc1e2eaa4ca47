import type { Entry, Tenant } from "./tenant.ts";

/** How many devices are in trouble at once: so the list is as long at the end as at the beginning. */
const inTrouble = 2000;

/** From one device to the next, so that all of the map changes; no divisor of a round number. */
const stride = 7919;

/** Load is a large fleet whose devices change their states all the time. */
export class Load {
  sent = 0;
  private readonly troubled: number[] = [];
  private next = 0;
  private begun = 0;
  private ended = 0;
  private going: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly tenant: Tenant,
    private readonly devices: number,
  ) {}

  /** rate is how many changes a second were sent. */
  get rate(): number {
    return (1000 * this.sent) / ((this.ended || Date.now()) - this.begun);
  }

  /** fill lets every device report that it is well. */
  async fill(): Promise<void> {
    const part = 10_000;
    for (let from = 0; from < this.devices; from += part) {
      const entries: Entry[] = [];
      for (let i = from; i < Math.min(from + part, this.devices); i++) {
        entries.push({ device: this.name(i), state: "NORMAL" });
      }
      await this.tenant.report(...entries);
    }
  }

  /** start lets so many devices a second change their state, until stop. */
  start(changes: number): void {
    this.begun = Date.now();
    this.sent = 0;
    this.stopped = false;
    this.going = this.go(changes);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.going;
    this.ended = Date.now();
  }

  private async go(changes: number): Promise<void> {
    const beat = 100;
    for (let n = 1; !this.stopped; n++) {
      await this.tenant.report(...this.some(Math.round((changes * beat) / 1000)));
      // When it is late, it goes on at once.
      const wait = this.begun + n * beat - Date.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** some are the next changes: by turns a device gets into trouble, and the longest in it is well. */
  private some(n: number): Entry[] {
    return Array.from({ length: n }, () => {
      this.sent++;
      if (this.troubled.length < inTrouble || this.sent % 2 === 0) {
        this.next = (this.next + stride) % this.devices;
        this.troubled.push(this.next);
        const state = `WARNING${1 + ((this.sent >> 1) % 4)}`;
        const message = "a reading left its limits";
        return { device: this.name(this.next), state, message, operator: "Liz" };
      }
      return { device: this.name(this.troubled.shift() ?? 0), state: "NORMAL" };
    });
  }

  private name(i: number): string {
    return `line-${String(i % 50).padStart(2, "0")}-machine-${String(i).padStart(6, "0")}`;
  }
}
