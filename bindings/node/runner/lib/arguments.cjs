"use strict";
/** What a runner is started with (IPC protocol §3). */

/**
 * Reads `words`; `--name value` and `--name=value` are the same.
 * @param {readonly string[]} words
 * @param {string} sessionId used when no argument names one
 * @returns {import("../index.cjs").Arguments}
 * @throws {Error} what is missing or wrong
 */
function readArguments(words, sessionId) {
  /** @type {Record<string, string>} */
  const known = {};
  /** @type {string[]} */
  const rest = [];
  const names = new Set(["--session-id", "--ga-path", "--workspace-root", "--llm-no", "--cwd"]);
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const split = word.indexOf("=");
    const name = split < 0 ? word : word.slice(0, split);
    if (!names.has(name)) {
      rest.push(word);
      continue;
    }
    const value = split < 0 ? words[(at += 1)] : word.slice(split + 1);
    if (value === undefined) throw new Error(`${name} needs a value`);
    known[name] = value;
  }
  const llmNo = known["--llm-no"] ?? "0";
  if (!/^\d+$/.test(llmNo)) throw new Error(`--llm-no must be a whole number, not \`${llmNo}\``);
  return {
    sessionId: known["--session-id"] ?? sessionId,
    gaPath: known["--ga-path"],
    workspaceRoot: known["--workspace-root"],
    llmNo: Number(llmNo),
    cwd: known["--cwd"],
    rest,
  };
}

module.exports = { readArguments };
