import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The program under test. */
const program = process.env.ANDON ?? fileURLToPath(new URL("../../bin/andon", import.meta.url));

/** How long a program may take until it names its address. */
const patience = 120_000;

/** A running program, "andon serve" or "andon demo", on a free port and a directory of its own. */
export class Server {
  url = "";
  private process: ChildProcess | undefined;
  private said = "";

  private constructor(
    private readonly dir: string,
    private readonly args: readonly string[],
  ) {}

  /** serve starts "andon serve" on an empty embedded store. */
  static async serve(...flags: string[]): Promise<Server> {
    const dir = await mkdtemp(join(tmpdir(), "andon-board-"));
    const s = new Server(dir, [
      "serve",
      "--data",
      join(dir, "data"),
      "--log-level",
      "warn",
      ...flags,
    ]);
    await s.start("127.0.0.1:0");
    return s;
  }

  /** demo starts a simulated factory with its server. */
  static async demo(...flags: string[]): Promise<Server> {
    const dir = await mkdtemp(join(tmpdir(), "andon-board-"));
    const s = new Server(dir, ["demo", ...flags]);
    await s.start("127.0.0.1:0");
    return s;
  }

  /** again starts a server that was killed, on the same address and the same data. */
  async again(): Promise<void> {
    await this.start(new URL(this.url).host);
  }

  private async start(listen: string): Promise<void> {
    // No setting of the machine's environment reaches the program.
    const env = { PATH: process.env.PATH, HOME: this.dir, TMPDIR: this.dir };
    this.said = "";
    const p = spawn(program, [...this.args, "--listen", listen], { env });
    this.process = p;
    const address = new Promise<string>((resolve, reject) => {
      const read = (text: Buffer) => {
        this.said = (this.said + text.toString()).slice(-8000);
        const m = /(?:listening on|answers at) (http:\/\/127\.0\.0\.1:\d+)/.exec(this.said);
        if (m?.[1]) resolve(m[1]);
      };
      p.stdout.on("data", read);
      p.stderr.on("data", read);
      p.once("error", reject);
      p.once("exit", (code) => reject(new Error(`andon ended with ${code}: ${this.said}`)));
      setTimeout(() => reject(new Error(`andon named no address: ${this.said}`)), patience).unref();
    });
    this.url = await address;
    address.catch(() => {}); // it ends later, which is no error
  }

  /** kill ends the program as a power cut would. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** freeze stops the program without ending it: its connections stay open. */
  freeze(): void {
    this.process?.kill("SIGSTOP");
  }

  /** thaw lets a program that was frozen go on. */
  thaw(): void {
    this.process?.kill("SIGCONT");
  }

  /** close ends the program and removes what it stored. */
  async close(): Promise<void> {
    await this.end("SIGTERM");
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const p = this.process;
    this.process = undefined;
    if (!p || p.exitCode !== null || p.signalCode !== null) return;
    const exit = once(p, "exit");
    p.kill(signal);
    await exit;
  }
}
