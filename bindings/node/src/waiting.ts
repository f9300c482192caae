/** Promises of what the native module does, and what they keep alive. */

import { described, guarded } from "./errors.js";
import type { Done, Waiting } from "./native.js";

let holders = 0;
let timer: NodeJS.Timeout | undefined;

/** Keeps the process alive until as many calls of `release`. */
export function hold(): void {
  if (holders++ === 0) timer = setInterval(() => {}, 0x7fffffff);
}

export function release(): void {
  if (--holders === 0) clearInterval(timer);
}

/** Options of everything that is awaited. */
export interface CallOptions {
  /** Ends the waiting; what was asked for may still happen. */
  signal?: AbortSignal;
}

/** A promise of what `start` is called back with. It keeps the process alive while it waits. */
export function settled<T>(start: (done: Done<T>) => Waiting, { signal }: CallOptions = {}): Promise<T | null> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const finish = (): void => {
      signal?.removeEventListener("abort", abort);
      release();
    };
    const waiting = guarded(() =>
      start((error, result) => {
        finish();
        if (error === null || error === undefined) resolve(result);
        else reject(described(error));
      }),
    );
    const abort = (): void => {
      waiting.cancel();
      finish();
      reject(signal?.reason);
    };
    hold();
    signal?.addEventListener("abort", abort, { once: true });
  });
}
