// An engine in this process, a shell task with an approval, and its answer.
import { Core } from "galley";

const core = await Core.start({ database: process.argv[2] ?? "galley.db" });
const client = core.client();
const { session } = await client.sessions.create("echo hello from $(uname)");
for await (const event of client.session(session.id).watch({ from: "start" })) {
  if (event.kind === "tool_call_pending") await client.approvals.respond(event.approval, "allow_once");
  if (event.kind === "run_complete") console.log(event.data.finalContent);
  if (event.kind === "run_complete") break;
}
await core.shutdown();
