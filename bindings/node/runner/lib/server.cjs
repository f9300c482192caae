"use strict";
/** The runner: takes commands, drives the agent, and ends with everything it started. */

const { Approvals } = require("./approvals.cjs");
const { readArguments } = require("./arguments.cjs");
const { UnknownCommand, parse } = require("./commands.cjs");
const { contextOf } = require("./context.cjs");
const { Aborted, errorFields, refused } = require("./errors.cjs");
const { endDescendants, watchParent } = require("./processes.cjs");
const { Outcome, Question } = require("./replies.cjs");
const { Run } = require("./run.cjs");
const { EventWriter, claim, lines } = require("./stdio.cjs");
const { MAX_LINE, PROTOCOL_VERSION, isSideQuestion } = require("./wire.cjs");

/** How long a stopped agent may take to stop before its run is ended without it, in milliseconds. */
const ABORT_GRACE = 3000;
/** How long `shutdown` lets the open run go on; Galley itself waits two seconds in all. */
const FINISH_GRACE = 1000;
/** How long a run that was stopped at the end may take to stop, and then its last events to leave. */
const STOP_GRACE = 400;
/** Side questions answered at the same time. */
const SIDE_QUESTIONS = 4;

/** @typedef {import("../index.cjs").Task} Task */
/** @typedef {import("../index.cjs").Model} Model */

/**
 * @param {import("../index.cjs").Agent} agent
 * @param {import("../index.cjs").Options} [options]
 * @returns {Promise<never>}
 */
async function run(agent, options = {}) {
  let args;
  try {
    args = readArguments(process.argv.slice(2), process.env.GALLEY_SESSION_ID ?? "");
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return process.exit(2);
  }
  const pipes = claim();
  if (pipes) await new Server(agent, options, args, new EventWriter(pipes.output, args.sessionId)).serve(pipes.input);
  return new Promise(() => undefined);
}

/** Serves one session. Commands are handled in the order they come, runs one after the other beside them. */
class Server {
  #agent;
  #options;
  /** @type {Model[]} */
  #models;
  /** @type {import("./run.cjs").Session} */
  #session;
  /** The run accepted last. @type {Run | undefined} */
  #run;
  /** The run that waits for the agent. @type {Run | undefined} */
  #next;
  #working = false;
  #begun = false;
  #ending = false;
  #aside = 0;

  /**
   * @param {import("../index.cjs").Agent} agent
   * @param {import("../index.cjs").Options} options
   * @param {import("../index.cjs").Arguments} args
   * @param {EventWriter} writer
   */
  constructor(agent, options, args, writer) {
    this.#agent = agent;
    this.#options = options;
    this.#models = (options.models ?? []).map((model) => (typeof model === "string" ? { name: model } : model));
    const model = this.#models[args.llmNo] ?? this.#models[0];
    this.#session = { arguments: args, approvals: new Approvals(), writer, history: [], model };
  }

  // Its life.

  /** @param {number} input */
  async serve(input) {
    process.on("SIGTERM", () => void this.#end(false));
    watchParent(() => void this.#end(false));
    const { beforeReady } = this.#options;
    try {
      await beforeReady?.(this.#session.arguments);
    } catch (error) {
      this.#write("error", errorFields(error, "startup", { category: "bridge" }));
      await within(STOP_GRACE, this.#session.writer.flush());
      process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
      return process.exit(1);
    }
    this.#sayReady();
    for await (const line of lines(input)) {
      if (await this.#take(line)) return this.#end(true);
    }
    return this.#end(false);
  }

  #sayReady() {
    const { model } = this.#session;
    const able = {
      abort: true,
      approvals: true,
      btw: this.#options.sideQuestion !== undefined,
      history: true,
      images: this.#options.images === true,
      models: this.#models.length > 0,
      questions: true,
    };
    this.#write("ready", {
      protocolVersion: PROTOCOL_VERSION,
      pid: process.pid,
      cwd: process.cwd(),
      llmName: model?.name,
      availableLLMs: this.#models.map((offered, index) => ({
        index,
        name: offered.name,
        displayName: offered.displayName ?? offered.name,
        isCurrent: offered === model,
      })),
      capabilities: Object.entries(able).flatMap(([name, yes]) => (yes ? [name] : [])),
    });
  }

  /**
   * Ends the process, with all it started.
   * @param {boolean} finish whether an open run may end by itself first
   * @returns {Promise<never>}
   */
  async #end(finish) {
    if (this.#ending) return new Promise(() => undefined);
    this.#ending = true;
    const run = this.#openRun();
    if (run) {
      if (finish) await within(FINISH_GRACE, run.whenSettled);
      if (!run.settled) run.stop();
      await within(STOP_GRACE, run.whenSettled);
      run.settle("aborted");
    }
    await within(STOP_GRACE, this.#session.writer.flush());
    endDescendants();
    return process.exit(0);
  }

  #openRun() {
    return this.#run?.settled === false ? this.#run : undefined;
  }

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} [fields]
   */
  #write(kind, fields) {
    this.#session.writer.write(kind, fields);
  }

  // Commands.

  /**
   * Handles one line; whether it asks for the end.
   * @param {string | number} line
   */
  async #take(line) {
    await this.#session.writer.room();
    let command;
    try {
      if (typeof line === "number") throw new Error(`a line of ${line} bytes is too long; the limit is ${MAX_LINE}`);
      command = parse(line);
    } catch (error) {
      const unknown = error instanceof UnknownCommand;
      const message = error instanceof Error ? error.message : String(error);
      const severity = unknown ? "warning" : "error";
      const words = unknown ? message : `not a command: ${message}`;
      this.#write("error", errorFields(words, "stdin", { category: "bridge", severity, retryable: false }));
      return false;
    }
    try {
      this.#handle(command);
    } catch (error) {
      this.#write("error", errorFields(error, command.kind));
    }
    return command.kind === "shutdown";
  }

  /** @param {import("./commands.cjs").Command} command */
  #handle(command) {
    const { approvals } = this.#session;
    switch (command.kind) {
      case "user_message": {
        const { text, images } = command;
        return isSideQuestion(text) ? this.#answerAside(text) : this.#accept({ text, images, answers: false });
      }
      case "ask_user_response": {
        const answered = this.#openRun()?.answer(command.text);
        return answered ? undefined : this.#accept({ text: command.text, images: [], answers: true });
      }
      case "approval_response":
        return approvals.answer(command.approvalId, command.decision);
      case "abort":
        return this.#abort();
      case "load_history":
        if (this.#begun) throw refused("a history can only be loaded before the first message");
        this.#session.history = command.messages;
        return this.#write("history_loaded", { messageCount: command.messages.length });
      case "set_approval_rules":
        return approvals.setRules(command.alwaysAllowGlobal, command.alwaysAllowProject);
      case "set_yolo_mode":
        approvals.automatic = command.enabled;
        return undefined;
      case "set_llm":
        return this.#selectModel(command.llmIndex);
      case "reinject_tools":
        throw refused("this agent cannot put its tool definitions into the history again");
      case "attach_pet":
        throw refused("this agent has no desktop pet");
      case "detach_pet":
        return this.#write("pet_detached");
      case "shutdown":
        return undefined;
    }
  }

  /** @param {string} consequence */
  #refuseWhileRunning(consequence) {
    if (this.#openRun()) throw refused(`a run is open; ${consequence}`);
  }

  /** @param {Task} task */
  #accept(task) {
    this.#refuseWhileRunning("the message was dropped");
    this.#begun = true;
    this.#run = this.#next = new Run(this.#session, task);
    void this.#workOff();
  }

  #abort() {
    const run = this.#openRun();
    if (!run || run.stopped) return;
    run.stop();
    if (!run.step) return run.settle("aborted");
    // Beside the commands: whatever the agent does to stop, they are read.
    void within(ABORT_GRACE, run.whenSettled).then(() => {
      if (run.settled) return;
      const message = "the agent has not stopped yet; the next message waits until it has";
      this.#write("error", errorFields(message, "abort", { severity: "warning", retryable: false }));
      run.settle("aborted");
    });
  }

  /** @param {number} index */
  #selectModel(index) {
    const count = this.#models.length;
    if (!count) throw refused("this agent has no choice of models");
    this.#refuseWhileRunning("the model was not changed");
    const model = this.#models[index];
    if (!model) throw refused(`there is no model ${index}; there are ${count}`);
    this.#session.model = model;
    this.#write("llm_changed", { index, name: model.name, displayName: model.displayName ?? model.name });
  }

  /** @param {string} text */
  #answerAside(text) {
    const { sideQuestion } = this.#options;
    if (!sideQuestion) throw refused("this agent answers no side questions");
    if (this.#aside >= SIDE_QUESTIONS) throw refused(`${SIDE_QUESTIONS} side questions are being answered; ask again later`);
    this.#aside += 1;
    const answer = async () => {
      try {
        const content = await sideQuestion(text.trimStart().slice("/btw".length).trim());
        this.#write("system_message", { content, variant: "side_question" });
      } catch (error) {
        // A warning, whatever it was: the run beside it has not failed.
        this.#write("error", errorFields(error, "side_question", { severity: "warning" }));
      } finally {
        this.#aside -= 1;
      }
    };
    void answer();
  }

  // Runs.

  async #workOff() {
    if (this.#working) return;
    this.#working = true;
    for (let run; (run = this.#next); ) {
      this.#next = undefined;
      if (await run.begin()) await this.#perform(run);
    }
    this.#working = false;
  }

  /**
   * Lets the agent do a run, and ends it whatever the agent does.
   * @param {Run} run
   */
  async #perform(run) {
    try {
      run.settle({ reply: checked(await reply(this.#agent(run.task, contextOf(run)), run)) });
    } catch (error) {
      run.settle(error instanceof Aborted ? "aborted" : { error });
    }
  }
}

/**
 * What the agent replies, once what it yields is streamed. A stop is thrown inside it, where it yielded.
 * @param {ReturnType<import("../index.cjs").Agent>} result
 * @param {Run} run
 * @returns {Promise<unknown>}
 */
async function reply(result, run) {
  if (typeof result !== "object" || result === null || !("next" in result)) return result;
  for (;;) {
    const { done, value } = await result.next();
    if (done) return value;
    try {
      await run.progress(/** @type {string} */ (value));
    } catch (stop) {
      await result.throw(stop);
      throw stop;
    }
  }
}

/** @param {unknown} result */
function checked(result) {
  if (result === undefined || typeof result === "string" || result instanceof Outcome || result instanceof Question) return result;
  throw new TypeError(`an agent returns a string, nothing, an Outcome or a Question, not ${result === null ? "null" : typeof result}`);
}

/**
 * Waits for `promise`, for `time` milliseconds at most.
 * @param {number} time
 * @param {Promise<unknown>} promise
 */
async function within(time, promise) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  await Promise.race([promise, new Promise((resolve) => (timer = setTimeout(resolve, time)))]);
  clearTimeout(timer);
}

module.exports = { run };
