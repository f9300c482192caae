/** Loads the native module of this platform. */

import { existsSync } from "node:fs";
import { join } from "node:path";

/** Called once, with an error in JSON or a result. */
export type Done<T> = (error: string | null, result: T | null) => void;

export interface Waiting {
  cancel(): void;
}

export interface NativeClient {
  call(name: string, args: string, done: Done<string>): Waiting;
  stream(name: string, args: string, reconnect?: number): NativeStream;
  close(): void;
}

export interface NativeBatch {
  /** Index of the first event; absent when the lines are frames. */
  first?: number;
  run?: number;
  /** JSON: `[[index, id], …]`. */
  approvals?: string;
  lines: string;
}

export interface NativeStream {
  next(done: Done<NativeBatch>): Waiting;
  close(): void;
}

export interface NativeCore {
  readonly socket: string | null;
  readonly database: string;
  client(): NativeClient;
  shutdown(done: Done<boolean>): Waiting;
  shutdownRequested(done: Done<boolean>): Waiting;
}

export interface Native {
  connect(socket?: string): NativeClient;
  readOnly(database: string): NativeClient;
  startCore(options: string, done: Done<NativeCore>): Waiting;
  main(argv: string[]): number;
}

function platform(): string {
  const system = `${process.platform}-${process.arch}`;
  if (process.platform === "win32") return `${system}-msvc`;
  if (process.platform !== "linux") return system;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime === undefined ? `${system}-musl` : `${system}-gnu`;
}

function load(): Native {
  const name = platform();
  const beside = join(__dirname, "..", `galley.${name}.node`);
  if (existsSync(beside)) return require(beside);
  try {
    return require(`galley-${name}`);
  } catch (cause) {
    const text = `galley has no native module for this platform: install the package galley-${name} (it is an optional dependency of galley)`;
    throw Object.assign(new Error(text), { cause });
  }
}

export const native: Native = load();
