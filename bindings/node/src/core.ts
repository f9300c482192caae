import { Client, object } from "./client.js";
import { native, type NativeCore } from "./native.js";
import { asyncDispose } from "./streams.js";
import { hold, release, settled } from "./waiting.js";

/** An agent that one Core can start, passed by whoever embeds it. */
export type OwnRuntime =
  | { name: string; backend: "shell" }
  | { name: string; backend: "process"; command: string[] }
  | { name: string; backend: "genericagent"; gaPath: string };

export interface CoreOptions {
  /** The database file; its folder holds the rest. Default: the user's. */
  database?: string;
  /** Listens on this socket; without it the Core serves its own process only. */
  socket?: string;
  /** The configuration file. Default: `config.toml` beside the database. */
  config?: string;
  /** Live runners kept before the least recently used idle one is ended. Default: 20. */
  maxLiveRunners?: number;
  /** Runtimes of this Core alone. */
  runtimes?: OwnRuntime[];
}

/**
 * An engine within this process. It ends with the process, and everything it started with it; it
 * does not keep the process alive unless asked by `ref`.
 */
export class Core {
  readonly #native: NativeCore;
  #referenced = false;

  private constructor(core: NativeCore) {
    this.#native = core;
  }

  /** Starts an engine. */
  static async start(options: CoreOptions = {}): Promise<Core> {
    const json = JSON.stringify(object(options, "the options of a Core"));
    return new Core((await settled<NativeCore>((done) => native.startCore(json, done)))!);
  }

  /** The database. */
  get database(): string {
    return this.#native.database;
  }

  /** The socket it listens on, if it does. */
  get socket(): string | undefined {
    return this.#native.socket ?? undefined;
  }

  /** A client within this process. */
  client(): Client {
    return new Client(this.#native.client());
  }

  /** Waits until somebody asks this Core to end (`client.core.shutdown()`). */
  async shutdownRequested(): Promise<void> {
    await settled<boolean>((done) => this.#native.shutdownRequested(done));
  }

  /** Ends it: runs are stopped, runners shut down, everything is stored. Again is no error. */
  async shutdown(): Promise<void> {
    await settled<boolean>((done) => this.#native.shutdown(done));
    this.unref();
  }

  /** Keeps the process alive until `shutdown` or `unref`. */
  ref(): this {
    if (!this.#referenced) hold();
    this.#referenced = true;
    return this;
  }

  unref(): this {
    if (this.#referenced) release();
    this.#referenced = false;
    return this;
  }
}

export interface Core {
  [Symbol.asyncDispose](): Promise<void>;
}

Object.defineProperty(Core.prototype, asyncDispose, {
  value(this: Core) {
    return this.shutdown();
  },
  configurable: true,
  writable: true,
});
