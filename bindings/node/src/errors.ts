import { exitCodes } from "./schema.js";

/** The stable names of errors; newer Cores may add some. */
export type ErrorCode = keyof typeof exitCodes | (string & {});

/** What went wrong, as Core or the client says it. */
export class GalleyError extends Error {
  override readonly name = "GalleyError";
  /** The stable name. */
  readonly code: ErrorCode;
  /** The exit code of a program that ends with this error. */
  readonly exitCode: number;
  /** Whether the same may work a little later. */
  readonly retryable: boolean;
  /** Structure, when there is some. */
  readonly detail: unknown;

  constructor(error: { code: ErrorCode; exitCode?: number; message: string; retryable?: boolean; detail?: unknown }) {
    super(error.message);
    this.code = error.code;
    this.exitCode = error.exitCode ?? (exitCodes as Record<string, number>)[error.code] ?? 1;
    this.retryable = error.retryable ?? false;
    this.detail = error.detail ?? undefined;
  }
}

/** The error that the native module describes in JSON. */
export function described(json: string): GalleyError {
  return new GalleyError(JSON.parse(json));
}

/** Calls into the native module; what it throws becomes an error of this package. */
export function guarded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    throw message.startsWith("{") ? described(message) : error;
  }
}
