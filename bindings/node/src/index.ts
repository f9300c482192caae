/** Galley for Node: drive and watch agents through a Core, running or embedded. */

export { Client, connect, readOnly, type Page, type ReconnectOptions } from "./client.js";
export { Core, type CoreOptions, type OwnRuntime } from "./core.js";
export { GalleyError, type ErrorCode } from "./errors.js";
export { Approvals, CoreCommands, Llms, Project, Projects, Runtimes, Session, Sessions, type WaitOutcome } from "./resources.js";
export type * from "./schema.js";
export { Feed, Frames, Stream, Watch, type Frame, type Gap, type SessionEvent, type UnknownSessionEvent } from "./streams.js";
export type { CallOptions } from "./waiting.js";
