"use strict";
/** Which tools may run: the rules Galley sends, and the approvals that wait for a person. */

const { randomUUID } = require("node:crypto");
const { refused } = require("./errors.cjs");

const DECISIONS = new Set(["allow_once", "deny", "always_allow_project", "always_allow_global"]);

/**
 * The approval state of a session (IPC protocol §5.2, §5.6, §5.7).
 *
 * Only a known decision about an approval that waits changes anything; a lost or late answer, the end of
 * the input and an abort never mean yes.
 */
class Approvals {
  automatic = false;
  /** @type {Set<string>} */
  #everywhere = new Set();
  /** @type {Set<string>} */
  #project = new Set();
  /** @type {Map<string, { tool: string, decide: (allowed: boolean) => void }>} */
  #waiting = new Map();

  /**
   * Replaces the tools that need no approval.
   * @param {readonly string[]} everywhere
   * @param {readonly string[]} project
   */
  setRules(everywhere, project) {
    this.#everywhere = new Set(everywhere);
    this.#project = new Set(project);
  }

  /**
   * Whether `tool` may run without asking.
   * @param {string} tool
   */
  allows(tool) {
    return this.automatic || this.#everywhere.has(tool) || this.#project.has(tool);
  }

  /**
   * Begins to wait for an answer about `tool`. Close it when nobody waits any more.
   * @param {string} tool
   */
  open(tool) {
    const id = `appr_${randomUUID().replaceAll("-", "")}`;
    /** @type {Promise<boolean>} */
    const allowed = new Promise((decide) => this.#waiting.set(id, { tool, decide }));
    return { id, allowed, close: () => void this.#waiting.delete(id) };
  }

  /**
   * Takes an answer. An `always_allow` one is remembered until the next `setRules`.
   * @param {string} id
   * @param {string} decision
   */
  answer(id, decision) {
    if (!DECISIONS.has(decision)) throw refused(`no such decision: ${decision}`);
    const waiting = this.#waiting.get(id);
    if (!waiting) throw refused(`no approval ${id} is waiting`);
    this.#waiting.delete(id);
    if (decision === "always_allow_global") this.#everywhere.add(waiting.tool);
    if (decision === "always_allow_project") this.#project.add(waiting.tool);
    waiting.decide(decision !== "deny");
  }
}

module.exports = { Approvals };
