"use strict";
/** What can go wrong, and how it is told (IPC protocol §4.10). */

const { ERROR_MESSAGE, clip } = require("./wire.cjs");

/** @typedef {import("../index.cjs").ErrorDetails} ErrorDetails */

class AgentError extends Error {
  /**
   * @param {string} message
   * @param {ErrorDetails} [details]
   */
  constructor(message, details = {}) {
    super(message);
    this.name = "AgentError";
    this.details = details;
  }
}

class Aborted extends Error {
  constructor() {
    super("the run was stopped");
    this.name = "Aborted";
  }
}

/**
 * A command that is fine in itself and cannot be met now, or by this agent.
 * @param {string} message
 */
function refused(message) {
  return new AgentError(message, { category: "business", retryable: false });
}

/**
 * The fields of the `error` event about `error`.
 * @param {unknown} error an `AgentError`, anything else that was thrown, or words
 * @param {string} doing the context, unless the error has its own
 * @param {ErrorDetails} [details] what counts more than the error's own
 */
function errorFields(error, doing, details = {}) {
  const known = error instanceof AgentError;
  const message = known ? error.message : String(error);
  const { category, severity, retryable, hint, context } = { ...(known ? error.details : {}), ...details };
  return {
    message: clip(message.split(/\s+/).filter(Boolean).join(" ") || "unknown error", ERROR_MESSAGE),
    category: category ?? "runtime",
    severity: severity ?? "error",
    retryable: retryable ?? true,
    hint,
    context: context ?? doing,
    traceback: !known && error instanceof Error ? error.stack : undefined,
  };
}

module.exports = { Aborted, AgentError, errorFields, refused };
