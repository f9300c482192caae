import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Core, GalleyError, readOnly } from "galley";
import { embedded } from "./support.mjs";

test("a shell task with an approval gives its answer", async (t) => {
  const { client } = await embedded(t);
  const { session } = await client.sessions.create("echo hello");
  const watch = client.session(session.id).watch({ from: "start" });
  const kinds = [];
  for await (const event of watch) {
    kinds.push(event.kind);
    assert.equal(event.index, kinds.length);
    assert.equal(event.kind, JSON.parse(event.raw).kind);
    assert.equal(watch.nextIndex, event.index + 1);
    if (event.kind === "tool_call_pending") {
      const [waiting] = await client.approvals.list();
      assert.equal(waiting.id, event.approval);
      assert.equal((await client.approvals.respond(event.approval, "allow_once")).approval.state, "allowed");
    }
    if (event.kind === "run_complete") break;
  }
  assert.equal(kinds.at(-1), "run_complete");
  const { status, messages } = await client.session(session.id).wait({ untilIdle: true });
  assert.equal(status, "completed");
  assert.match(messages.at(-1).finalAnswer, /hello/);
});

test("every noun answers", async (t) => {
  const { client, core, folder } = await embedded(t);
  assert.equal((await client.ping()).pong, true);
  assert.equal((await client.version()).schemaVersion, 1);
  assert.equal(typeof (await client.status()), "object");
  assert.ok((await client.health()).checks.length > 0);
  assert.equal((await client.core.info()).pid, process.pid);
  const { project } = await client.projects.create("Work");
  assert.deepEqual((await client.projects.list()).map(({ id }) => id), [project.id]);
  assert.equal((await client.project(project.id).update({ name: "Play" })).project.name, "Play");

  const { session } = await client.sessions.create("echo a rare word: marmalade", { approvalMode: "auto", projectId: project.id });
  const one = client.session(session.id);
  await one.wait({ untilIdle: true });
  assert.equal((await client.project(project.id).brief()).sessionCount, 1);
  assert.equal((await client.sessions.search("marmalade"))[0].sessionId, session.id);
  assert.equal((await one.rename("Jam")).session.title, "Jam");
  assert.equal((await one.pin()).session.pinned, true);
  assert.equal((await one.brief()).title, "Jam");
  assert.equal((await one.state()).busy, false);
  assert.deepEqual(await one.queue(), []);
  await one.send("echo again");
  await one.wait({ untilIdle: true });
  assert.equal((await one.show()).filter(({ role }) => role === "agent").length, 2);
  assert.ok((await one.export({ format: "markdown" })).content.includes("marmalade"));
  assert.equal((await client.approvals.mode("auto")).mode, "auto");
  assert.deepEqual(await client.approvals.rules(), []);
  assert.deepEqual(await client.llms.list(), []);
  assert.ok((await client.runtimes.list()).some(({ name }) => name === "fake"));
  assert.equal((await client.runtimes.check("fake")).ok, true);
  assert.equal((await one.kill()).dispatch, "shutdown_sent");
  await one.archive();
  assert.deepEqual(await client.sessions.list(), []);
  await one.restore();

  const reader = readOnly(core.database);
  assert.equal((await reader.session(session.id).brief()).title, "Jam");
  await assert.rejects(reader.session(session.id).send("no"), { code: "db_unavailable" });
  assert.equal((await one.delete()).deleted, true);
  assert.ok(core.database.startsWith(folder));
});

test("pages of a list have a cursor", async (t) => {
  const { client } = await embedded(t);
  for (const task of ["true", "true", "true"]) await client.sessions.create(task);
  const page = await client.sessions.list({ limit: 2 });
  assert.equal(page.length, 2);
  const rest = await client.sessions.list({ limit: 2, cursor: page.nextCursor });
  assert.equal(rest.length, 1);
  assert.equal(rest.nextCursor, undefined);
});

test("the same package is there for CommonJS", async () => {
  const galley = createRequire(import.meta.url)("galley");
  assert.equal(galley.Core, Core);
  assert.equal(galley.GalleyError, GalleyError);
});

test("a Core that ended says so, and its streams end", async (t) => {
  const { client, core } = await embedded(t);
  const { session } = await client.sessions.create("true");
  const watch = client.session(session.id).watch({ from: "start", stay: true });
  assert.equal((await watch.next()).value.index, 1);
  const asked = core.shutdownRequested();
  await client.core.shutdown();
  await asked;
  await core.shutdown();
  await core.shutdown();
  for await (const event of watch) assert.ok(event.index);
  assert.equal(watch.endReason, "core_shutdown");
  await assert.rejects(client.ping(), { code: "db_unavailable", exitCode: 4 });
});
