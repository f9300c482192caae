/** The commands by noun, as the command line has them. */

import { object, text, type Args, type Client, type Page, type ReconnectOptions } from "./client.js";
import { GalleyError } from "./errors.js";
import type * as schema from "./schema.js";
import { Feed, Frames, Watch, type Gap } from "./streams.js";
import type { CallOptions } from "./waiting.js";

/** A positional string and the other arguments of a command, checked. */
function withText<Name extends string, Rest extends object>(name: Name, value: string, rest: Rest): Rest & Record<Name, string> {
  return { ...object(rest, "the arguments"), [name]: text(value, name) } as Rest & Record<Name, string>;
}

export class Sessions {
  readonly #client: Client;

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  list(args: Args<"sessions.list"> = {}, options?: CallOptions): Promise<Page<schema.SessionBrief>> {
    return this.#client.call("sessions.list", args, options);
  }

  search(query: string, args: Args<"sessions.search", "query"> = {}, options?: CallOptions): Promise<Page<schema.SearchHit>> {
    return this.#client.call("sessions.search", withText("query", query, args), options);
  }

  /** Creates a session and starts its first task. */
  create(task: string, args: Args<"session.new", "task"> = {}, options?: CallOptions): Promise<schema.NewSession> {
    return this.#client.call("session.new", withText("task", task, args), options);
  }

  /** What changes in any session, for a list that stays true. */
  watch(args: Args<"sessions.watch"> = {}, options?: CallOptions): Feed<schema.FeedEvent> {
    return new Feed(() => this.#client.open("sessions.watch", args), options);
  }
}

/** How a wait ended. */
export interface WaitOutcome {
  /** Why the waiting stopped; it describes the wait, not the task. */
  status: schema.WaitStatus;
  /** The session as it stood then. */
  session: schema.SessionBrief;
  /** Its last messages. */
  messages: schema.MessageBrief[];
}

export class Session {
  readonly #client: Client;

  /** @internal */
  constructor(
    client: Client,
    readonly id: string,
  ) {
    this.#client = client;
  }

  #call<Name extends keyof schema.Commands>(name: Name, args: object, options?: CallOptions) {
    return this.#client.call(name, withText("sessionId", this.id, args) as schema.Commands[Name]["args"], options);
  }

  send(content: string, args: Args<"session.send", "sessionId" | "content"> = {}, options?: CallOptions): Promise<schema.Submitted> {
    return this.#call("session.send", withText("content", content, args), options);
  }

  show(args: Args<"session.show", "sessionId"> = {}, options?: CallOptions): Promise<Page<schema.MessageBrief>> {
    return this.#call("session.show", args, options);
  }

  brief(options?: CallOptions): Promise<schema.SessionBrief> {
    return this.#call("session.brief", {}, options);
  }

  state(options?: CallOptions): Promise<schema.SessionState> {
    return this.#call("session.state", {}, options);
  }

  stop(args: Args<"session.stop", "sessionId"> = {}, options?: CallOptions): Promise<schema.StopResult> {
    return this.#call("session.stop", args, options);
  }

  kill(args: Args<"session.kill", "sessionId"> = {}, options?: CallOptions): Promise<schema.KillResult> {
    return this.#call("session.kill", args, options);
  }

  resume(args: Args<"session.resume", "sessionId"> = {}, options?: CallOptions): Promise<schema.Resumed> {
    return this.#call("session.resume", args, options);
  }

  archive(args: Args<"session.archive", "sessionId"> = {}, options?: CallOptions): Promise<schema.SessionResult> {
    return this.#call("session.archive", args, options);
  }

  restore(args: Args<"session.restore", "sessionId"> = {}, options?: CallOptions): Promise<schema.SessionResult> {
    return this.#call("session.restore", args, options);
  }

  move(args: Args<"session.move", "sessionId">, options?: CallOptions): Promise<schema.SessionResult> {
    return this.#call("session.move", args, options);
  }

  rename(title: string, args: Args<"session.rename", "sessionId" | "title"> = {}, options?: CallOptions): Promise<schema.SessionResult> {
    return this.#call("session.rename", withText("title", title, args), options);
  }

  pin(args: Args<"session.pin", "sessionId"> = {}, options?: CallOptions): Promise<schema.SessionResult> {
    return this.#call("session.pin", args, options);
  }

  read(args: Args<"session.read", "sessionId"> = {}, options?: CallOptions): Promise<schema.SessionResult> {
    return this.#call("session.read", args, options);
  }

  delete(args: Args<"session.delete", "sessionId"> = {}, options?: CallOptions): Promise<schema.SessionDeleted> {
    return this.#call("session.delete", args, options);
  }

  queue(options?: CallOptions): Promise<Page<schema.QueueItem>> {
    return this.#call("session.queue", {}, options);
  }

  editQueue(args: Args<"session.queue_edit", "sessionId">, options?: CallOptions): Promise<Page<schema.QueueItem>> {
    return this.#call("session.queue_edit", args, options);
  }

  retry(args: Args<"session.retry", "sessionId"> = {}, options?: CallOptions): Promise<schema.Submitted> {
    return this.#call("session.retry", args, options);
  }

  export(args: Args<"session.export", "sessionId">, options?: CallOptions): Promise<schema.Exported> {
    return this.#call("session.export", args, options);
  }

  btw(args: Args<"session.btw", "sessionId">, options?: CallOptions): Promise<schema.DispatchResult> {
    return this.#call("session.btw", args, options);
  }

  command(command: Args<"session.command">["command"], options?: CallOptions): Promise<schema.DispatchResult> {
    return this.#call("session.command", { command }, options);
  }

  /** Its events, each exactly once, also across a lost connection. */
  watch({ from, stay, ...options }: Args<"session.watch", "sessionId"> & CallOptions & ReconnectOptions & { onGap?: (gap: Gap) => void } = {}): Watch {
    return new Watch(() => this.#client.open("session.watch", { sessionId: this.id, from, stay }, options), options);
  }

  /** Its transcript and then its events. */
  follow(args: Args<"session.follow", "sessionId"> = {}, options?: CallOptions): Frames<schema.FollowFrame> {
    return this.#client.stream("session.follow", { ...args, sessionId: this.id }, options);
  }

  /** Waits for an answer. */
  async wait(args: Args<"session.wait", "sessionId"> = {}, options?: CallOptions): Promise<WaitOutcome> {
    for await (const frame of this.#client.stream("session.wait", { ...args, sessionId: this.id }, options)) {
      if (frame.stream === "wait" && frame.phase === "final" && frame.status) {
        return { status: frame.status, session: frame.session, messages: frame.messages ?? [] };
      }
    }
    throw new GalleyError({ code: "internal", message: "the wait ended without its last payload" });
  }
}

export class Approvals {
  readonly #client: Client;

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  list(args: Args<"approval.list"> = {}, options?: CallOptions): Promise<Page<schema.Approval>> {
    return this.#client.call("approval.list", args, options);
  }

  respond(id: string, decision: schema.Decision, args: Args<"approval.respond", "id" | "decision"> = {}, options?: CallOptions): Promise<schema.ApprovalRespondResult> {
    text(decision, "decision");
    return this.#client.call("approval.respond", { ...withText("id", id, args), decision }, options);
  }

  rules(args: Args<"approval.rules"> = {}, options?: CallOptions): Promise<Page<schema.Rule>> {
    return this.#client.call("approval.rules", args, options);
  }

  revoke(args: Args<"approval.revoke">, options?: CallOptions): Promise<Page<schema.Rule>> {
    return this.#client.call("approval.revoke", args, options);
  }

  /** Sets how approvals are handled, in one session or by default. */
  mode(mode: Args<"approval.mode">["mode"], args: Args<"approval.mode", "mode"> = {}, options?: CallOptions): Promise<schema.ApprovalModeResult> {
    return this.#client.call("approval.mode", { ...args, mode }, options);
  }
}

export class Projects {
  readonly #client: Client;

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  list(args: Args<"project.list"> = {}, options?: CallOptions): Promise<Page<schema.ProjectBrief>> {
    return this.#client.call("project.list", args, options);
  }

  create(name: string, args: Args<"project.create", "name"> = {}, options?: CallOptions): Promise<schema.ProjectResult> {
    return this.#client.call("project.create", withText("name", name, args), options);
  }
}

export class Project {
  readonly #client: Client;

  /** @internal */
  constructor(
    client: Client,
    readonly id: string,
  ) {
    this.#client = client;
  }

  brief(options?: CallOptions): Promise<schema.ProjectOverview> {
    return this.#client.call("project.brief", { projectId: this.id }, options);
  }

  show(args: Args<"project.show", "projectId"> = {}, options?: CallOptions): Promise<schema.ProjectTranscripts> {
    return this.#client.call("project.show", { ...args, projectId: this.id }, options);
  }

  update(args: Args<"project.update", "projectId">, options?: CallOptions): Promise<schema.ProjectResult> {
    return this.#client.call("project.update", { ...args, projectId: this.id }, options);
  }

  delete(args: Args<"project.delete", "projectId"> = {}, options?: CallOptions): Promise<schema.ProjectDeleted> {
    return this.#client.call("project.delete", { ...args, projectId: this.id }, options);
  }

  /** Its sessions and then their events. */
  follow(args: Args<"project.follow", "projectId"> = {}, options?: CallOptions): Frames<schema.ProjectFrame> {
    return this.#client.stream("project.follow", { ...args, projectId: this.id }, options);
  }
}

export class Llms {
  readonly #client: Client;

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  list(args: Args<"llm.list"> = {}, options?: CallOptions): Promise<Page<schema.LlmRow>> {
    return this.#client.call("llm.list", args, options);
  }

  set(args: Args<"llm.set">, options?: CallOptions): Promise<schema.LlmSetResult> {
    return this.#client.call("llm.set", args, options);
  }
}

export class Runtimes {
  readonly #client: Client;

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  list(options?: CallOptions): Promise<Page<schema.RuntimeBrief>> {
    return this.#client.call("runtime.list", {}, options);
  }

  show(name: string, options?: CallOptions): Promise<schema.RuntimeBrief> {
    return this.#client.call("runtime.show", withText("name", name, {}), options);
  }

  add(args: Args<"runtime.add">, options?: CallOptions): Promise<schema.RuntimeBrief> {
    return this.#client.call("runtime.add", args, options);
  }

  remove(name: string, options?: CallOptions): Promise<schema.RuntimeRemoved> {
    return this.#client.call("runtime.remove", withText("name", name, {}), options);
  }

  use(name: string, options?: CallOptions): Promise<schema.RuntimeBrief> {
    return this.#client.call("runtime.use", withText("name", name, {}), options);
  }

  /** Starts it for real and waits until it is ready. */
  check(name: string, options?: CallOptions): Promise<schema.RuntimeCheckResult> {
    return this.#client.call("runtime.check", withText("name", name, {}), options);
  }
}

export class CoreCommands {
  readonly #client: Client;

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  info(options?: CallOptions): Promise<schema.CoreInfo> {
    return this.#client.call("core.info", {}, options);
  }

  /** Asks whoever started the Core to end it. */
  shutdown(options?: CallOptions): Promise<schema.CoreShutdownResult> {
    return this.#client.call("core.shutdown", {}, options);
  }
}
