/** An agent that does what the conformance suite asks for: its task's first word says what. */

import { spawn, spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentError, run } from "../../../bindings/node/runner/index.mjs";

/**
 * @param {import("../../../bindings/node/runner/index.mjs").Task} task
 * @param {import("../../../bindings/node/runner/index.mjs").Context} ctx
 */
async function probe(task, ctx) {
  switch (task.text.trim()) {
    case "approval": {
      const args = { what: "paper" };
      if (!(await ctx.approve("burn", args, { risk: "high", reason: "It is gone then" }))) return "kept";
      await ctx.tool("burn", args, (call) => call.result("burnt"));
      break;
    }
    case "question":
      return ctx.ask("Which?", ["red", "blue"]);
    case "long":
      // A child that nobody waits for: it is the runner's to end.
      spawn("sleep", ["600"]).unref();
      await ctx.progress("working");
      await sleep(600_000, undefined, { signal: ctx.signal });
      break;
    case "print":
      console.log("from the agent");
      spawnSync("echo", ["from a child"], { stdio: "inherit" });
      break;
    case "fail":
      throw new AgentError("told to fail", { hint: "network" });
    case "panic":
      throw new TypeError("told to panic");
    case "stubborn":
      await ctx.progress("deaf");
      await sleep(4500);
      break;
    case "history":
      return ctx.history.map(({ content }) => content).join(" | ");
    case "model":
      return ctx.model?.name;
    case "steps":
      await ctx.progress("first");
      await ctx.nextStep({ summary: "one" });
      await ctx.progress("second");
      return "second";
    default:
      await ctx.progress(`You said: ${task.text.trim()}`);
  }
  return "done";
}

await run(probe, { models: ["small", { name: "big", displayName: "Big One" }], sideQuestion: (question) => `about ${question}` });
