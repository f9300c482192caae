// Events per second of a watch, typed and raw: `node bench/watch.mjs [EVENTS]`, with a release build.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Core } from "galley";
import { fakeRunner } from "../test/support.mjs";

const count = Number(process.argv[2] ?? 200_000);
const folder = mkdtempSync(join(tmpdir(), "galley-bench-"));
const core = await Core.start({ database: join(folder, "galley.db"), runtimes: [{ name: "fake", backend: "process", command: [fakeRunner] }] });
const client = core.client();
const { session } = await client.sessions.create(`!emit ${count} 200`, { runtime: "fake" });
const one = client.session(session.id);
await one.wait({ untilIdle: true });
const { lastIndex } = await one.brief();
for (const [name, look] of [["typed", (event) => event.kind.length], ["raw", (event) => event.raw.length]]) {
  const begun = performance.now();
  let seen = 0;
  for await (const event of one.watch({ from: "start", stay: true })) {
    seen += look(event) > 0 ? 1 : 0;
    if (event.index === lastIndex) break;
  }
  console.log(JSON.stringify({ name, events: seen, perSecond: Math.round((seen / (performance.now() - begun)) * 1000) }));
}
await core.shutdown();
rmSync(folder, { recursive: true, force: true });
