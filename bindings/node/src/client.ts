import { guarded } from "./errors.js";
import { native, type NativeClient, type NativeStream } from "./native.js";
import { Approvals, CoreCommands, Llms, Project, Projects, Runtimes, Session, Sessions } from "./resources.js";
import type { Commands, HealthReport, Pong, StatusSummary, Streams, Version } from "./schema.js";
import { asyncDispose, Frames } from "./streams.js";
import { settled, type CallOptions } from "./waiting.js";

/** A list; `nextCursor` is set when there is another page. */
export type Page<T> = T[] & { nextCursor?: string };

type Answer<T> = T extends (infer Row)[] ? Page<Row> : T;

/** The arguments of a command, without what the method knows. */
export type Args<Name extends keyof (Commands & Streams), Known extends string = never> = Omit<(Commands & Streams)[Name]["args"], Known>;

/** How long a watch tries to find a lost Core again. */
export interface ReconnectOptions {
  /** Milliseconds, counted from the loss; 0 is not at all, `Infinity` as long as it takes. Default: 30 000. */
  reconnect?: number;
}

const RECONNECT = 30_000;

/**
 * A client of one Core. It has one connection for requests and one per stream, opened when they are
 * needed and again after a break. It does not keep the process alive; a call that is awaited does.
 */
export class Client {
  readonly #native: NativeClient;

  /** Many sessions. */
  readonly sessions = new Sessions(this);
  /** What waits for a yes or a no. */
  readonly approvals = new Approvals(this);
  /** Many projects. */
  readonly projects = new Projects(this);
  /** The models. */
  readonly llms = new Llms(this);
  /** The agents that can be started. */
  readonly runtimes = new Runtimes(this);
  /** The engine itself. */
  readonly core = new CoreCommands(this);

  /** A client of the Core that listens at `socket`, or where Cores listen unless told otherwise. */
  constructor(options: { socket?: string } | NativeClient = {}) {
    if ("stream" in object(options, "the options of a client")) {
      this.#native = options as NativeClient;
      return;
    }
    const { socket } = options as { socket?: string };
    this.#native = native.connect(socket === undefined ? undefined : text(socket, "socket"));
  }

  /** One session. */
  session(id: string): Session {
    return new Session(this, text(id, "the id of a session"));
  }

  /** One project. */
  project(id: string): Project {
    return new Project(this, text(id, "the id of a project"));
  }

  ping(options?: CallOptions): Promise<Pong> {
    return this.call("ping", {}, options);
  }

  version(options?: CallOptions): Promise<Version> {
    return this.call("version", {}, options);
  }

  status(options?: CallOptions): Promise<StatusSummary> {
    return this.call("status", {}, options);
  }

  health(options?: CallOptions): Promise<HealthReport> {
    return this.call("health", {}, options);
  }

  /** Carries out any command by its name, also one that this version does not know. */
  call<Name extends keyof Commands>(name: Name, args: Commands[Name]["args"], options?: CallOptions): Promise<Answer<Commands[Name]["output"]>>;
  call<Name extends string>(name: Name extends keyof Commands ? never : Name, args?: object, options?: CallOptions): Promise<unknown>;
  async call(name: string, args: object = {}, options?: CallOptions): Promise<unknown> {
    const json = JSON.stringify(object(args, "the arguments"));
    const answer = await settled<string>((done) => this.#native.call(text(name, "the name of a command"), json, done), options);
    const { result, nextCursor } = JSON.parse(answer!) as { result: unknown; nextCursor?: string };
    return nextCursor === undefined ? result : Object.assign(result as unknown[], { nextCursor });
  }

  /** Opens any stream by its name, and yields its frames as Core writes them. */
  stream<Name extends keyof Streams>(name: Name, args: Streams[Name]["args"], options?: CallOptions & ReconnectOptions): Frames<Streams[Name]["frame"]>;
  stream<Name extends string>(name: Name extends keyof Streams ? never : Name, args?: object, options?: CallOptions & ReconnectOptions): Frames<object>;
  stream(name: string, args: object = {}, options: CallOptions & ReconnectOptions = {}): Frames<object> {
    return new Frames(() => this.open(name, args, options), options);
  }

  /** @internal */
  open(name: string, args: object, { reconnect = RECONNECT }: ReconnectOptions = {}): NativeStream {
    if (typeof reconnect !== "number" || Number.isNaN(reconnect)) throw new TypeError("reconnect must be a number of milliseconds");
    const json = JSON.stringify(object(args, "the arguments"));
    const patience = reconnect === Infinity ? undefined : reconnect;
    return guarded(() => this.#native.stream(text(name, "the name of a stream"), json, patience));
  }

  /** Lets go of the connection; calls on their way are answered, later ones fail. */
  close(): void {
    this.#native.close();
  }
}

export interface Client {
  [Symbol.asyncDispose](): Promise<void>;
}

Object.defineProperty(Client.prototype, asyncDispose, {
  async value(this: Client) {
    this.close();
  },
  configurable: true,
  writable: true,
});

/** A client of the Core that listens at `socket`, or where Cores listen unless told otherwise; fails without one. */
export async function connect(options: { socket?: string } & CallOptions = {}): Promise<Client> {
  const client = new Client(options);
  await client.ping(options);
  return client;
}

/** A client that reads a database's file, beside a Core or without one. What would change something fails. */
export function readOnly(database: string): Client {
  return new Client(native.readOnly(text(database, "the database")));
}

/** `value`, which must be a string. */
export function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw new TypeError(`${what} must be a string`);
  return value;
}

/** `value`, which must be an object. */
export function object<T>(value: T, what: string): T & object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError(`${what} must be an object`);
  return value;
}
