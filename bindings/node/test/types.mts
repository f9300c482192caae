// Compiled, not run: what the types promise to those who use the package.
import { connect, Core, GalleyError, type SessionEvent } from "galley";
import type { SessionBrief, TurnProgress } from "galley";

export function text(event: SessionEvent): string {
  switch (event.kind) {
    case "turn_progress": {
      const progress: TurnProgress = event.data;
      return progress.delta;
    }
    case "tool_call_pending":
      return `${event.data.toolName} ${event.approval ?? ""}`;
    case "run_complete":
      // @ts-expect-error another kind's field
      return event.data.delta;
    default:
      return `${event.index} ${event.raw} ${event.data.kind}`;
  }
}

export async function use(): Promise<void> {
  await using core = await Core.start({ database: "x.db" });
  const client = core.client();
  const rows: SessionBrief[] = await client.sessions.list({ archived: "all" });
  const row = await client.call("session.brief", { sessionId: rows[0]!.id });
  row.title satisfies string;
  // @ts-expect-error a command's arguments
  await client.call("session.brief", {});
  // @ts-expect-error no such argument
  await client.sessions.create("x", { nonsense: true });
  for await (const change of client.sessions.watch()) {
    if (change.kind === "session_changed") change.status satisfies string;
    if (change.kind === "message_added") change.content satisfies string;
  }
  await using watch = client.session("s").watch({ from: 5, reconnect: Infinity });
  for await (const event of watch) text(event);
  try {
    await connect();
  } catch (error) {
    if (error instanceof GalleyError && error.code === "db_unavailable") error.retryable satisfies boolean;
  }
}
