/**
 * An agent for Galley: counts the words of a text file and offers to save the result beside it.
 *
 *     galley runtime add words --command "node $PWD/examples/runner.mjs"
 *     galley run --runtime words README.md
 *
 * With the npm package the import is `galley/runner`.
 */

import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { AgentError, run } from "../bindings/node/runner/index.mjs";

/**
 * @param {import("../bindings/node/runner/index.mjs").Task} task
 * @param {import("../bindings/node/runner/index.mjs").Context} ctx
 */
async function* words(task, ctx) {
  const path = task.text.trim();
  const text = await ctx.tool("file_read", { path }, async (call) => {
    const text = await readFile(path, "utf8").catch((error) => {
      throw new AgentError(`cannot read ${path}: ${error.message}`, { retryable: false });
    });
    call.result(`${text.length} characters`);
    return text;
  });

  const howMany = await ctx.ask("How many of the most frequent words?", ["3", "10"]);
  const all = text.split(/\s+/).filter(Boolean);
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const word of all) counts.set(word.toLowerCase(), (counts.get(word.toLowerCase()) ?? 0) + 1);
  const common = [...counts].sort(([, m], [, n]) => n - m).slice(0, Number.parseInt(howMany, 10) || 3);
  const report = common.map(([word, times]) => `- ${word}: ${times}`).join("\n");
  yield `${basename(path)} has ${all.length} words.\n\n${report}\n`;

  const args = { path: `${path}.words`, content: report };
  if (await ctx.approve("file_write", args, { risk: "medium", reason: "Writes a file next to the one it read" })) {
    await ctx.tool("file_write", args, async (call) => {
      await writeFile(args.path, `${report}\n`);
      call.result(`${report.length} characters written`);
    });
    yield `\nSaved as ${basename(args.path)}.`;
  } else {
    yield "\nNot saved.";
  }
}

await run(words);
