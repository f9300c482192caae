import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Client, connect, Core, GalleyError } from "galley";
import { embedded, place } from "./support.mjs";

const EXIT_CODES = {
  internal: 1,
  invalid_args: 2,
  not_found: 3,
  db_unavailable: 4,
  runner_error: 5,
  busy: 6,
  schema_mismatch: 2,
  unknown_command: 1,
  idle_timeout: 1,
  queue_full: 1,
};

test("every error of Core keeps its name, exit code and structure", { skip: process.platform === "win32" && "a pipe needs another server" }, async (t) => {
  const socket = join(place(t), "fake.sock");
  const server = createServer((connection) => {
    connection.setEncoding("utf8").on("data", (line) => {
      const { requestId, args } = JSON.parse(line);
      connection.write(`${JSON.stringify({ ok: false, requestId, error: args.tag, message: `this is ${args.tag}`, detail: { retryable: args.tag === "busy" } })}\n`);
    });
  });
  await new Promise((resolve) => server.listen(socket, resolve));
  t.after(() => server.close());
  const client = new Client({ socket });
  for (const [tag, exitCode] of Object.entries({ ...EXIT_CODES, a_later_one: 1 })) {
    // Core closes an idle connection; a client asks again, and takes no other error for that.
    await assert.rejects(client.call("some.command", { tag }), (error) => {
      assert.ok(error instanceof GalleyError);
      assert.deepEqual({ code: error.code, exitCode: error.exitCode, message: error.message }, { code: tag, exitCode, message: `this is ${tag}` });
      assert.equal(error.retryable, tag === "busy");
      assert.deepEqual(error.detail, { retryable: tag === "busy" });
      return true;
    });
  }
  client.close();
});

test("a real Core gives the errors of real mistakes", async (t) => {
  const { client, core, folder } = await embedded(t);
  await assert.rejects(client.session("sess_none").brief(), { name: "GalleyError", code: "not_found" });
  await assert.rejects(client.session("sess_none").watch({ from: "start" }).next(), { code: "not_found" });
  await assert.rejects(client.sessions.create(" "), { code: "invalid_args" });
  await assert.rejects(client.call("no.such"), { code: "unknown_command" });
  await assert.rejects(client.call("session.watch", {}), { code: "invalid_args" });
  assert.throws(() => client.stream("ping", {}), { code: "invalid_args" });
  const { session } = await client.sessions.create("sleep 30", { approvalMode: "auto" });
  await assert.rejects(client.session(session.id).send("true", { ifBusy: "reject" }), { code: "busy", exitCode: 6 });
  const broken = await client.sessions.create("hello", { runtime: "none" }).catch((error) => error);
  assert.ok(broken instanceof GalleyError);
  await assert.rejects(Core.start({ database: core.database }), (error) => error.code === "db_unavailable" && error.detail.pid === process.pid);
  await assert.rejects(Core.start({ database: join(folder, "b.db"), nonsense: 1 }), { code: "invalid_args" });
  await assert.rejects(connect({ socket: join(folder, "nobody.sock") }), { code: "db_unavailable", retryable: true });
  // It still works.
  assert.equal((await client.ping()).pong, true);
});

test("wrong types are TypeErrors before anything is asked", async (t) => {
  const { client } = await embedded(t);
  assert.throws(() => client.session(7), TypeError);
  assert.throws(() => client.session(), TypeError);
  assert.throws(() => new Client({ socket: 5 }), TypeError);
  assert.throws(() => new Client(null), TypeError);
  assert.throws(() => client.sessions.create(5), TypeError);
  assert.throws(() => client.sessions.search(), TypeError);
  await assert.rejects(client.call(5), TypeError);
  await assert.rejects(client.call("ping", "text"), TypeError);
  await assert.rejects(client.call("ping", { big: 1n }), TypeError);
  await assert.rejects(Core.start("file.db"), TypeError);
  assert.throws(() => client.session("s").watch({ reconnect: "soon" }), TypeError);
});

test("a closed client says so", async (t) => {
  const { client } = await embedded(t);
  client.close();
  client.close();
  await assert.rejects(client.ping(), { code: "db_unavailable", message: "this client is closed" });
  assert.throws(() => client.session("s").watch(), { message: "this client is closed" });
});
