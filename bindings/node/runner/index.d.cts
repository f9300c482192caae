/** Write an agent for Galley as a function; see `run`. */

/** What the runner was started with (IPC protocol §3). */
export interface Arguments {
  /** The session in Galley; empty when nobody said. */
  readonly sessionId: string;
  /** The agent's folder. */
  readonly gaPath?: string;
  /** The user's project folder. */
  readonly workspaceRoot?: string;
  /** Position of the model to begin with. */
  readonly llmNo: number;
  /** The session's working directory. The process itself stays where it was started. */
  readonly cwd?: string;
  /** Arguments the protocol does not know: the agent's own. */
  readonly rest: readonly string[];
}

/** One message of the user. */
export interface Task {
  readonly text: string;
  /** Absolute paths of image files. */
  readonly images: readonly string[];
  /** Whether it answers the question the last run ended with. */
  readonly answers: boolean;
}

/** A model the agent can use. `name` identifies it for good, `displayName` is for people. */
export interface Model {
  readonly name: string;
  readonly displayName?: string;
}

/** One message of an earlier conversation. */
export interface HistoryMessage {
  readonly role: string;
  readonly content: string;
  readonly toolCalls: readonly unknown[];
  readonly toolResults: readonly unknown[];
}

export type Category = "bridge" | "runtime" | "business";
export type Severity = "error" | "warning" | "info";
export type Risk = "low" | "medium" | "high";

/** How an error is reported (IPC protocol §4.10). */
export interface ErrorDetails {
  /** `runtime` unless told; `business` never makes a run a failed one. */
  category?: Category;
  severity?: Severity;
  /** Whether trying again may help; true unless told. */
  retryable?: boolean;
  /** What the user can do. */
  hint?: "check_llm_config" | "network" | "quota_exceeded";
  /** What was being done. */
  context?: string;
}

/** An error that says how it is to be reported. Thrown by an agent, it ends the run. */
export class AgentError extends Error {
  constructor(message: string, details?: ErrorDetails);
  readonly details: Readonly<ErrorDetails>;
}

/** The run was stopped. Thrown wherever the agent touches its context; do not catch it. */
export class Aborted extends Error {}

/** What an `Outcome` says. */
export interface OutcomeFields {
  /** The final answer, as Markdown; what the last step streamed, if absent. */
  content?: string;
  /** `CURRENT_TASK_DONE` unless told. */
  result?: string;
  data?: unknown;
  /** One line about the last step. */
  summary?: string;
  /** The whole reply of the last step, if it is more than `content`. */
  response?: string;
  /** Figures about the run. */
  telemetry?: Record<string, unknown>;
}

/** How a run ended: its answer, and `exitReason` (IPC protocol §4.9). */
export class Outcome {
  constructor(fields?: OutcomeFields);
  readonly fields: Readonly<OutcomeFields>;
}

/**
 * Ends a run by asking the user; the answer starts the next run (`task.answers`).
 * To ask and go on in the same run, use `ctx.ask`.
 */
export class Question {
  constructor(text: string, candidates?: readonly string[]);
  readonly text: string;
  readonly candidates: readonly string[];
}

/** A tool call that runs. */
export interface ToolCall {
  /** Says how it goes, in free words. */
  progress(text: string): Promise<void>;
  /** What came of it: text, or anything that can be JSON. */
  result(value: unknown, status?: "success" | "failed"): void;
}

/** One run. Every method throws `Aborted` once the run was stopped. */
export interface Context {
  readonly arguments: Arguments;
  readonly sessionId: string;
  /** The conversation before this task, oldest first. */
  readonly history: readonly HistoryMessage[];
  /** The model in use, of those the agent listed. */
  readonly model: Model | undefined;
  /** The number of the current step, from 1. */
  readonly step: number;
  /** Aborts when the run is stopped: hand it to `fetch`, child processes, timers. */
  readonly signal: AbortSignal;
  /** Streams a piece of text; the pieces of a step are its reply. */
  progress(text: string): Promise<void>;
  /** Ends the current step and begins the next. */
  nextStep(step?: { summary?: string; response?: string }): Promise<void>;
  /** Says something that is not the agent's reply, as Markdown. */
  systemMessage(content: string): Promise<void>;
  /** Reports something that went wrong; the run goes on. */
  report(error: unknown): Promise<void>;
  /** Writes an event of a kind of the agent's own. */
  emit(kind: string, fields?: Record<string, unknown>): Promise<void>;
  /**
   * Does `work` as a tool call and returns what it returns. The call has failed when `work` throws.
   * It does not ask; see `approve`.
   */
  tool<T>(name: string, args: Record<string, unknown>, work: (call: ToolCall) => Promise<T> | T): Promise<T>;
  /**
   * Whether the user lets `tool` run with `args`: asks, unless a rule or the session's mode says yes.
   * Waits as long as it takes. A no is recorded as a denied tool call.
   */
  approve(tool: string, args: Record<string, unknown>, why?: { risk?: Risk; reason?: string }): Promise<boolean>;
  /** Asks the user and waits for the answer, as long as it takes; the run stays open. */
  ask(question: string, candidates?: readonly string[]): Promise<string>;
}

/** What an agent returns: an answer, nothing (what it streamed is the answer), or more. */
export type Reply = string | Outcome | Question | undefined | void;

/** A function, async function, generator or async generator: what it yields is streamed. */
export type Agent = (
  task: Task,
  ctx: Context,
) => Reply | Promise<Reply> | Generator<string, Reply, void> | AsyncGenerator<string, Reply, void>;

export interface Options {
  /** Models offered to the user; `ctx.model` is the chosen one. */
  models?: readonly (string | Model)[];
  /** The agent looks at `task.images`. */
  images?: boolean;
  /** Answers `/btw` questions, also while a run is open. */
  sideQuestion?: (question: string) => Promise<string> | string;
  /** Done before `ready` is written. An error is reported in its place, and the process ends with code 1. */
  beforeReady?: (args: Arguments) => Promise<void> | void;
}

/**
 * Serves `agent`, and ends the process when Galley says so.
 *
 * Standard input and output are moved away first: what the agent or its children print goes to
 * standard error. Where the system gives no other way (Windows; standard streams that are sockets) the
 * program is started once more for that, so call `run` before anything that must happen once.
 */
export function run(agent: Agent, options?: Options): Promise<never>;
