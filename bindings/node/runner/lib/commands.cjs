"use strict";
/** What Galley tells a runner (IPC protocol §5), read strictly where it matters and tolerant elsewhere. */

/** @typedef {import("../index.cjs").HistoryMessage} HistoryMessage */

/**
 * @typedef {{ kind: "user_message", text: string, images: string[] }
 *   | { kind: "ask_user_response", text: string }
 *   | { kind: "approval_response", approvalId: string, decision: string }
 *   | { kind: "load_history", messages: HistoryMessage[] }
 *   | { kind: "set_approval_rules", alwaysAllowGlobal: string[], alwaysAllowProject: string[] }
 *   | { kind: "set_yolo_mode", enabled: boolean }
 *   | { kind: "set_llm", llmIndex: number }
 *   | { kind: "abort" | "shutdown" | "reinject_tools" | "attach_pet" | "detach_pet" }} Command
 */

/** A line that is no command, or a command without a field it needs. */
class BadCommand extends Error {}

/** A command of a kind this version does not know. */
class UnknownCommand extends Error {}

/**
 * Reads one line; unknown fields are ignored.
 * @param {string} line
 * @returns {Command}
 */
function parse(line) {
  /** @type {any} */
  let command;
  try {
    command = JSON.parse(line);
  } catch (error) {
    throw new BadCommand(`not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const kind = command?.kind;
  if (typeof kind !== "string") throw new BadCommand("not a JSON object with a string `kind`");
  /** @param {string} name @param {string} type @param {any} [of] */
  const required = (name, type, of = command) => {
    if (typeof of?.[name] !== type) throw new BadCommand(`${kind}: \`${name}\` must be a ${type}`);
    return of[name];
  };
  /** @param {string} name @param {any} [of] */
  const list = (name, of = command) => {
    const items = of[name] ?? [];
    if (!Array.isArray(items)) throw new BadCommand(`${kind}: \`${name}\` must be a list`);
    return items;
  };
  /** @param {string} name */
  const strings = (name) => {
    const items = list(name);
    if (!items.every((item) => typeof item === "string")) throw new BadCommand(`${kind}: \`${name}\` must be a list of strings`);
    return items;
  };
  switch (kind) {
    case "user_message":
      return { kind, text: required("text", "string"), images: strings("images") };
    case "ask_user_response":
      return { kind, text: required("text", "string") };
    case "approval_response":
      return { kind, approvalId: required("approvalId", "string"), decision: required("decision", "string") };
    case "load_history":
      if (!Array.isArray(command.messages)) throw new BadCommand("load_history: `messages` must be a list");
      return {
        kind,
        messages: command.messages.map((/** @type {any} */ message) => ({
          role: required("role", "string", message),
          content: message.content === null || message.content === undefined ? "" : required("content", "string", message),
          toolCalls: list("toolCalls", message),
          toolResults: list("toolResults", message),
        })),
      };
    case "set_approval_rules":
      return { kind, alwaysAllowGlobal: strings("alwaysAllowGlobal"), alwaysAllowProject: strings("alwaysAllowProject") };
    case "set_yolo_mode":
      return { kind, enabled: required("enabled", "boolean") };
    case "set_llm":
      return { kind, llmIndex: required("llmIndex", "number") };
    case "abort":
    case "shutdown":
    case "reinject_tools":
    case "attach_pet":
    case "detach_pet":
      return { kind };
    default:
      throw new UnknownCommand(`unknown command: ${kind}`);
  }
}

module.exports = { BadCommand, UnknownCommand, parse };
