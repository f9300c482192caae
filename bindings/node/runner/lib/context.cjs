"use strict";
/** A run as the agent sees it: what it can say, ask and wait for. */

const { errorFields } = require("./errors.cjs");

/**
 * @param {import("./run.cjs").Run} run
 * @returns {import("../index.cjs").Context}
 */
function contextOf(run) {
  const { session } = run;
  return {
    arguments: session.arguments,
    sessionId: session.arguments.sessionId,
    history: session.history,
    model: session.model,
    get step() {
      return run.step;
    },
    signal: run.signal,
    progress: (text) => run.progress(text),
    nextStep: ({ summary, response } = {}) => run.nextStep(summary, response),
    systemMessage: (content) => run.event("system_message", { content, variant: "system" }),
    report: (error) => run.event("error", errorFields(error, "user_message")),
    emit: (kind, fields = {}) => run.event(kind, fields),
    tool: (name, args, work) => run.tool(name, args, work),
    approve: (tool, args, why = {}) => run.approve(tool, args, why),
    ask: (question, candidates = []) => run.ask(question, candidates),
  };
}

module.exports = { contextOf };
