"use strict";
/** The state of one run: what is open, what was said, and the one end it gets. */

const { randomUUID } = require("node:crypto");
const { Aborted, errorFields } = require("./errors.cjs");
const { Outcome, Question } = require("./replies.cjs");
const { RESULT_PREVIEW, argsPreview, asText, clip } = require("./wire.cjs");

/** @typedef {import("../index.cjs").Task} Task */
/** @typedef {{ reply: unknown } | { error: unknown } | "aborted"} End */
/** @typedef {{ id: string, tool: string, args: Record<string, unknown>, started: number }} Call */

/**
 * What outlives a run.
 * @typedef {object} Session
 * @property {import("../index.cjs").Arguments} arguments
 * @property {import("./approvals.cjs").Approvals} approvals
 * @property {import("./stdio.cjs").EventWriter} writer
 * @property {readonly import("../index.cjs").HistoryMessage[]} history
 * @property {import("../index.cjs").Model | undefined} model
 */

/** One run. What it writes it writes in one turn of the event loop, so that nothing follows its end. */
class Run {
  step = 0;
  settled = false;
  #stop = new AbortController();
  #streamed = "";
  /** @type {Map<string, Call>} */
  #openCalls = new Map();
  /** @type {unknown[]} */
  #calls = [];
  /** @type {unknown[]} */
  #results = [];
  /** @type {((text: string) => void) | undefined} */
  #answer;
  /** @type {Promise<void>} */
  whenSettled;
  /** @type {() => void} */
  #settle = () => undefined;

  /**
   * @param {Session} session
   * @param {Task} task
   */
  constructor(session, task) {
    this.session = session;
    this.task = task;
    this.whenSettled = new Promise((resolve) => (this.#settle = resolve));
  }

  // Its life.

  get signal() {
    return this.#stop.signal;
  }

  get stopped() {
    return this.signal.aborted;
  }

  /** Opens the first step, unless the run was stopped before. */
  async begin() {
    await this.session.writer.room();
    if (!this.stopped && !this.settled) this.#beginStep();
    return this.step > 0;
  }

  /** Marks the run as stopped: from here on no answer counts, and the agent gets `Aborted`. */
  stop() {
    this.#answer = undefined;
    this.#stop.abort(new Aborted());
  }

  /**
   * Ends the run, once: what is open is closed, and `run_complete` is its last event. A stopped run ends
   * as aborted, whatever `end` says.
   * @param {End} end
   */
  settle(end) {
    if (this.settled) return;
    this.settled = true;
    for (const call of [...this.#openCalls.values()]) this.#endCall(call, "cancelled", undefined);
    if (this.stopped || end === "aborted") this.#complete({ result: "ABORTED", data: null }, undefined);
    else if ("error" in end) {
      this.#write("error", errorFields(end.error, "user_message"));
      this.#complete({ result: "EXITED", data: null }, undefined);
    } else this.#finish(end.reply);
    this.#settle();
  }

  /** @param {unknown} reply */
  #finish(reply) {
    const question = reply instanceof Question ? reply : undefined;
    const fields = reply instanceof Outcome ? reply.fields : { content: typeof reply === "string" ? reply : undefined };
    const exitReason = { result: fields.result ?? (question ? "EXITED" : "CURRENT_TASK_DONE"), data: fields.data ?? null };
    const content = fields.content ?? (this.#streamed || undefined);
    this.#endStep(fields.summary, fields.response ?? content, exitReason, fields.telemetry);
    if (question) this.#write("ask_user", { question: question.text, candidates: question.candidates });
    const said = { toolCalls: [], toolResults: [] };
    this.session.history = [
      ...this.session.history,
      { role: "user", content: this.task.text, ...said },
      { role: "assistant", content: content ?? "", ...said },
    ];
    this.#complete(exitReason, content);
  }

  // What it says.

  /**
   * Does `what` when there is room for what it writes.
   * @template T
   * @param {() => T} what
   * @returns {Promise<T>}
   */
  async say(what) {
    await this.session.writer.room();
    this.check();
    return what();
  }

  /** Throws if the run is stopped or over. */
  check() {
    if (this.stopped || this.settled) throw new Aborted();
  }

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} fields
   */
  event(kind, fields) {
    return this.say(() => this.#write(kind, fields));
  }

  /** @param {string} text */
  progress(text) {
    if (typeof text !== "string") throw new TypeError(`an agent streams strings, not ${typeof text}`);
    return this.say(() => {
      if (!text) return;
      this.#streamed += text;
      this.#write("turn_progress", { delta: text, source: "workbench" });
    });
  }

  /**
   * @param {string | undefined} summary
   * @param {string | undefined} response
   */
  nextStep(summary, response) {
    return this.say(() => {
      this.#endStep(summary, response ?? (this.#streamed || undefined), null, undefined);
      this.#beginStep();
    });
  }

  // Its tools.

  /**
   * @template T
   * @param {string} tool
   * @param {Record<string, unknown>} args
   * @param {(call: import("../index.cjs").ToolCall) => Promise<T> | T} work
   */
  async tool(tool, args, work) {
    const call = newCall(tool, args);
    await this.say(() => {
      this.#openCalls.set(call.id, call);
      this.#record(call);
      const { id: toolCallId } = call;
      this.#write("tool_call_start", { toolCallId, turnIndex: this.step, toolName: tool, args, argsPreview: argsPreview(args) });
    });
    let [result, status] = ["", "success"];
    try {
      const done = await work({
        progress: (text) => this.event("tool_call_progress", { toolCallId: call.id, text }),
        result: (value, how = "success") => {
          [result, status] = [asText(value), how];
        },
      });
      await this.say(() => this.#endCall(call, status, result));
      return done;
    } catch (error) {
      if (!this.stopped && !this.settled) this.#endCall(call, "failed", String(error));
      throw error;
    }
  }

  /**
   * @param {string} tool
   * @param {Record<string, unknown>} args
   * @param {{ risk?: import("../index.cjs").Risk, reason?: string }} why
   */
  async approve(tool, args, why) {
    this.check();
    const { approvals } = this.session;
    if (approvals.allows(tool)) return true;
    const approval = approvals.open(tool);
    try {
      await this.event("tool_call_pending", {
        approvalId: approval.id,
        turnIndex: this.step,
        toolName: tool,
        args,
        argsPreview: argsPreview(args),
        riskLevel: why.risk ?? "medium",
        reason: why.reason ?? null,
      });
      const allowed = await this.#unlessStopped(approval.allowed);
      await this.say(() => {
        if (allowed) return;
        const call = newCall(tool, args);
        this.#record(call);
        this.#openCalls.set(call.id, call);
        this.#endCall(call, "denied", "The user denied this action");
      });
      return allowed;
    } finally {
      approval.close();
    }
  }

  /**
   * @param {string} question
   * @param {readonly string[]} candidates
   */
  async ask(question, candidates) {
    /** @type {(text: string) => void} */
    let give = () => undefined;
    /** @type {Promise<string>} */
    const answered = new Promise((resolve) => (give = resolve));
    await this.say(() => {
      this.#answer = give;
      this.#write("ask_user", { question, candidates, blocking: true });
    });
    const answer = await this.#unlessStopped(answered);
    this.check();
    return answer;
  }

  /**
   * Takes the answer to a question of `ask`; false if none is open.
   * @param {string} text
   */
  answer(text) {
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.(text);
    return answer !== undefined;
  }

  /**
   * @template T
   * @param {Promise<T>} promise
   * @returns {Promise<T>}
   */
  #unlessStopped(promise) {
    return new Promise((resolve, reject) => {
      const stop = () => reject(new Aborted());
      if (this.stopped) return stop();
      this.signal.addEventListener("abort", stop, { once: true });
      return promise.then(resolve, reject).finally(() => this.signal.removeEventListener("abort", stop));
    });
  }

  // Events.

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} fields
   */
  #write(kind, fields) {
    this.session.writer.write(kind, fields);
  }

  #beginStep() {
    this.step += 1;
    this.#write("turn_start", { turnIndex: this.step });
  }

  /**
   * @param {string | undefined} summary
   * @param {string | undefined} responseContent
   * @param {unknown} exitReason
   * @param {unknown} telemetry
   */
  #endStep(summary, responseContent, exitReason, telemetry) {
    const [toolCalls, toolResults] = [this.#calls, this.#results];
    this.#write("turn_end", { turnIndex: this.step, summary, toolCalls, toolResults, exitReason, responseContent, telemetry });
    [this.#streamed, this.#calls, this.#results] = ["", [], []];
  }

  /** @param {Call} call */
  #record({ id, tool, args }) {
    this.#calls.push({ id, toolName: tool, args });
  }

  /**
   * Ends a tool call; what has ended already stays as it is.
   * @param {Call} call
   * @param {string} status
   * @param {string | undefined} result
   */
  #endCall(call, status, result) {
    if (!this.#openCalls.delete(call.id)) return;
    if (result !== undefined) this.#results.push({ toolUseId: call.id, content: result });
    this.#write("tool_call_end", {
      toolCallId: call.id,
      status,
      resultPreview: result === undefined ? undefined : clip(result, RESULT_PREVIEW),
      elapsedMs: status === "denied" ? undefined : Math.round(performance.now() - call.started),
    });
  }

  /**
   * @param {unknown} exitReason
   * @param {string | undefined} finalContent
   */
  #complete(exitReason, finalContent) {
    this.#write("run_complete", { exitReason, finalContent, totalTurns: this.step });
  }
}

/**
 * @param {string} tool
 * @param {Record<string, unknown>} args
 * @returns {Call}
 */
function newCall(tool, args) {
  return { id: `tc_${randomUUID().replaceAll("-", "")}`, tool, args, started: performance.now() };
}

module.exports = { Run };
