import { described, GalleyError } from "./errors.js";
import type { NativeBatch, NativeStream, Waiting } from "./native.js";
import type { Events, UnknownKind } from "./schema.js";
import { hold, release, type CallOptions } from "./waiting.js";

/** `Symbol.asyncDispose`, also where Node does not have it yet. */
const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as never);

/** What is common to every event of a watch. */
interface EventBase {
  /** Its place in the session's log, from 1. */
  readonly index: number;
  /** The run it belongs to, from 1; 0 before the first. */
  readonly run: number;
  /** Core's id of the approval it asks for, on `tool_call_pending`. */
  readonly approval: string | undefined;
  /** The runner's own line. */
  readonly raw: string;
}

/** An event whose kind this version does not know. */
export interface UnknownSessionEvent extends EventBase {
  readonly kind: UnknownKind;
  readonly data: { readonly kind: string; readonly [field: string]: unknown };
}

/** One event of a session; `kind` tells which fields `data` has. */
export type SessionEvent =
  | { [Kind in keyof Events]: EventBase & { readonly kind: Kind; readonly data: Events[Kind] & { kind: Kind } } }[keyof Events]
  | UnknownSessionEvent;

/** An event; its line is parsed when somebody looks inside. */
class Line implements EventBase {
  #data: { kind: string } | undefined;

  constructor(
    readonly index: number,
    readonly run: number,
    readonly approval: string | undefined,
    readonly raw: string,
  ) {}

  get data(): { kind: string } {
    return (this.#data ??= JSON.parse(this.raw) as { kind: string });
  }

  get kind(): string {
    return this.data.kind;
  }

  toJSON(): object {
    return { index: this.index, run: this.run, approval: this.approval, data: this.data };
  }
}

/** A frame as Core writes it. */
export interface Frame {
  readonly stream: string;
  readonly [field: string]: unknown;
}

/**
 * Something that comes piece by piece: iterate it with `for await`.
 *
 * Nothing is read before it is asked for, and nothing is lost by not asking. Leaving the loop closes
 * the stream, however it is left.
 */
export abstract class Stream<T> implements AsyncIterableIterator<T> {
  #native: NativeStream | undefined;
  #batch: NativeBatch = { lines: "" };
  #offset = 0;
  #approvals: Map<number, string> | undefined;
  #pending: { waiting: Waiting; cancel: (reason?: unknown) => void } | undefined;
  #turn: Promise<void> | undefined;
  #referenced = true;
  #failure: { reason: unknown } | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.#close({ reason: this.#signal?.reason });
  #endReason: string | undefined;

  /** @internal */
  constructor(open: () => NativeStream, { signal }: CallOptions = {}) {
    this.#signal = signal;
    if (signal?.aborted) {
      this.#failure = { reason: signal.reason };
      return;
    }
    this.#native = open();
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /** Why the stream ended; `undefined` while it is open, or when it was closed from here. */
  get endReason(): string | undefined {
    return this.#endReason;
  }

  /** Lets the process live while somebody waits for the next piece. So it is from the start. */
  ref(): this {
    if (!this.#referenced && this.#pending) hold();
    this.#referenced = true;
    return this;
  }

  /** Lets the process end although somebody waits for the next piece. */
  unref(): this {
    if (this.#referenced && this.#pending) release();
    this.#referenced = false;
    return this;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const item = this.#turn ? undefined : this.#take();
    return item === undefined ? this.#queued() : Promise.resolve({ done: false, value: item });
  }

  /** Closes the stream. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#close();
    this.#failure = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Closes the stream. */
  async close(): Promise<void> {
    await this.return();
  }

  /** An event, as the piece it is; `undefined` to go on. */
  protected abstract event(line: Line): T | undefined;
  /** A frame, as the piece it is; `undefined` to go on. */
  protected abstract frame(frame: Frame): T | undefined;

  /** Takes turns: the next piece goes to whoever asked first. */
  #queued(): Promise<IteratorResult<T, undefined>> {
    const piece = this.#turn ? this.#turn.then(() => this.#wait()) : this.#wait();
    const over = (): void => {
      if (this.#turn === turn) this.#turn = undefined;
    };
    const turn: Promise<void> = piece.then(over, over);
    this.#turn = turn;
    return piece;
  }

  /** The next piece of what was read already. */
  #take(): T | undefined {
    const { lines } = this.#batch;
    while (this.#offset < lines.length) {
      const end = lines.indexOf("\n", this.#offset);
      const raw = lines.slice(this.#offset, end);
      this.#offset = end + 1;
      const item = this.#batch.first === undefined ? this.#frame(raw) : this.#event(raw);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  #event(raw: string): T | undefined {
    const index = this.#batch.first!++;
    return this.event(new Line(index, this.#batch.run!, this.#approvals?.get(index), raw));
  }

  #frame(raw: string): T | undefined {
    const frame = JSON.parse(raw) as Frame;
    if (frame.stream === "end") this.#endReason = String(frame.reason);
    return this.frame(frame);
  }

  async #wait(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const item = this.#take();
      if (item !== undefined) return { done: false, value: item };
      if (this.#failure) {
        const { reason } = this.#failure;
        this.#failure = undefined;
        throw reason;
      }
      if (!this.#native) return { done: true, value: undefined };
      const batch = await this.#pull(this.#native);
      if (!batch) {
        const over = this.#native !== undefined;
        this.#close();
        if (over && this.#endReason === undefined) throw goneError();
        continue;
      }
      this.#batch = batch;
      this.#offset = 0;
      this.#approvals = batch.approvals === undefined ? undefined : new Map(JSON.parse(batch.approvals) as [number, string][]);
    }
  }

  /** The next batch, or nothing when the stream is over or was closed. */
  #pull(native: NativeStream): Promise<NativeBatch | null> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        this.#pending = undefined;
        if (this.#referenced) release();
      };
      const waiting = native.next((error, batch) => {
        if (this.#pending?.waiting !== waiting) return;
        finish();
        if (error === null || error === undefined) return resolve(batch);
        this.#close();
        reject(described(error));
      });
      const cancel = (): void => {
        waiting.cancel();
        finish();
        resolve(null);
      };
      this.#pending = { waiting, cancel };
      if (this.#referenced) hold();
    });
  }

  #close(failure?: { reason: unknown }): void {
    this.#signal?.removeEventListener("abort", this.#abort);
    const native = this.#native;
    if (!native) return;
    this.#native = undefined;
    this.#batch = { lines: "" };
    this.#offset = 0;
    this.#failure = failure;
    this.#pending?.cancel();
    native.close();
  }
}

export interface Stream<T> {
  [Symbol.asyncDispose](): Promise<void>;
}

Object.defineProperty(Stream.prototype, asyncDispose, {
  value(this: Stream<unknown>) {
    return this.close();
  },
  configurable: true,
  writable: true,
});

function goneError(): GalleyError {
  return new GalleyError({ code: "db_unavailable", message: "Galley Core went away before the stream ended", retryable: true });
}

/** A span of events that were compacted away. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** A session's events, each exactly once, also across a lost connection. */
export class Watch extends Stream<SessionEvent> {
  #nextIndex: number | undefined;
  readonly #onGap: ((gap: Gap) => void) | undefined;

  /** @internal */
  constructor(open: () => NativeStream, options: CallOptions & { onGap?: (gap: Gap) => void } = {}) {
    super(open, options);
    this.#onGap = options.onGap;
  }

  /** The index after the last event that was taken: where another watch goes on. */
  get nextIndex(): number | undefined {
    return this.#nextIndex;
  }

  protected override event(line: Line): SessionEvent {
    this.#nextIndex = line.index + 1;
    return line as unknown as SessionEvent;
  }

  protected override frame(frame: Frame): undefined {
    if (frame.stream === "start") this.#nextIndex = frame.nextIndex as number;
    if (frame.stream === "gap") {
      this.#nextIndex = (frame.to as number) + 1;
      this.#onGap?.(frame as unknown as Gap);
    }
  }
}

/** The frames of a stream as Core writes them, without the last. */
export class Frames<F> extends Stream<F> {
  protected override event(line: Line): F {
    const { index, run, approval, data } = line;
    return { stream: "event", requestId: null, index, run, ...(approval === undefined ? {} : { approval }), data } as F;
  }

  protected override frame(frame: Frame): F | undefined {
    return frame.stream === "end" ? undefined : (frame as F);
  }
}

/** The changes that a feed tells of. */
export class Feed<E> extends Stream<E> {
  #revision: number | undefined;

  /** The last revision that was taken: where another feed goes on. */
  get revision(): number | undefined {
    return this.#revision;
  }

  protected override event(): undefined {}

  protected override frame(frame: Frame): E | undefined {
    if (frame.stream === "start") this.#revision = frame.revision as number;
    if (frame.stream !== "event") return undefined;
    const change = frame.data as E & { revision: number };
    this.#revision = change.revision;
    return change;
  }
}

export { asyncDispose };
