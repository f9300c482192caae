import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { connect, Core } from "galley";
import { embedded, fakeRunner, node, place, serve, until } from "./support.mjs";

/** A session of the fake runner that has emitted `count` events. */
async function emitted(client, count) {
  const { session } = await client.sessions.create(`!emit ${count} 200`, { runtime: "fake" });
  return client.session(session.id);
}

test("a consumer that sleeps while everything is written loses nothing", async (t) => {
  const { client } = await embedded(t);
  const session = await emitted(client, 20_000);
  let last = 0;
  for await (const event of session.watch({ from: "start" })) {
    assert.equal(event.index, last + 1);
    last = event.index;
    // Asleep until everything it has not read yet is written.
    if (last === 5_000) await until(async () => (await session.brief()).lastIndex > 20_000);
    if (event.kind === "run_complete") break;
  }
  assert.ok(last > 20_000);
});

test("leaving the loop in any way closes the stream", async (t) => {
  const { client } = await embedded(t);
  const session = await emitted(client, 1_000);
  const streams = async () => (await client.core.info()).counters.streams;
  for await (const _ of session.watch({ from: "start", stay: true })) break;
  await assert.rejects(async () => {
    for await (const _ of session.watch({ from: "start", stay: true })) throw new Error("mine");
  }, /mine/);
  const watch = session.watch({ from: "start", stay: true });
  await watch.next();
  await watch.return();
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
  const disposed = session.watch({ from: "start", stay: true });
  await disposed.next();
  await disposed[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
  await until(async () => (await streams()) === 0);
});

test("return ends a next that waits", async (t) => {
  const { client } = await embedded(t);
  const { session } = await client.sessions.create("true");
  const watch = client.session(session.id).watch({ from: "now", stay: true });
  const waiting = watch.next();
  await new Promise((resolve) => setImmediate(resolve));
  await watch.return();
  assert.equal((await waiting).done, true);
});

test("a signal aborts streams and calls", async (t) => {
  const { client } = await embedded(t);
  const { session } = await client.sessions.create("true");
  const controller = new AbortController();
  const watch = client.session(session.id).watch({ from: "now", stay: true, signal: controller.signal });
  const waiting = watch.next();
  const call = client.session(session.id).wait({ messageId: "never" }, { signal: controller.signal }).catch((error) => error);
  const mine = new Error("enough");
  controller.abort(mine);
  await assert.rejects(waiting, mine);
  assert.ok((await call) instanceof Error);
  assert.equal((await watch.next()).done, true);
  await assert.rejects(client.ping({ signal: controller.signal }), mine);
  await assert.rejects(client.session(session.id).watch({ signal: controller.signal }).next(), mine);
  await until(async () => (await client.core.info()).counters.streams === 0);
});

test("several that ask at once are answered in turn", async (t) => {
  const { client } = await embedded(t);
  const watch = (await emitted(client, 1_000)).watch({ from: "start" });
  const taken = await Promise.all(Array.from({ length: 1_000 }, () => watch.next()));
  assert.deepEqual(taken.map(({ value }) => value.index), Array.from({ length: 1_000 }, (_, at) => at + 1));
  await watch.close();
});

test("a feed keeps a list true, and goes on from a revision", async (t) => {
  const { client } = await embedded(t);
  const feed = client.sessions.watch();
  assert.equal((await feed.next()).value.kind, "snapshot");
  const { session } = await client.sessions.create("echo one", { approvalMode: "auto" });
  for await (const change of feed) {
    if (change.kind === "session_changed" && change.id === session.id && change.status === "completed") break;
  }
  assert.ok(feed.revision > 0);
  const again = client.sessions.watch({ sinceRevision: feed.revision });
  await client.session(session.id).rename("Two");
  const { value } = await again.next();
  assert.equal(value.kind, "session_changed");
  await again.close();
});

test("follow gives the transcript and then the events", async (t) => {
  const { client } = await embedded(t);
  const { session } = await client.sessions.create("sleep 0.3; echo late", { approvalMode: "auto" });
  const frames = [];
  const follow = client.session(session.id).follow({ untilIdle: true });
  for await (const frame of follow) {
    frames.push(frame.stream);
    if (frame.stream === "event" && frame.data.kind === "run_complete") break;
  }
  assert.equal(frames[0], "snapshot");
  assert.ok(frames.includes("event"));
});

test("a killed and restarted Core is survived from the index", { timeout: 60_000 }, async (t) => {
  const folder = place(t);
  const first = await serve(t, folder);
  const client = await connect({ socket: first.socket });
  const { session } = await client.sessions.create("echo before", { approvalMode: "auto" });
  const one = client.session(session.id);
  await one.wait({ untilIdle: true });
  const watch = one.watch({ from: "start", stay: true });
  const indexes = [];
  const take = async (kind) => {
    for (;;) {
      const { value } = await watch.next();
      indexes.push(value.index);
      if (value.kind === kind) return value;
    }
  };
  await take("run_complete");
  first.child.kill("SIGKILL");
  await first.ended;
  const next = take("run_complete");
  await serve(t, folder);
  await one.send("echo after");
  assert.match((await next).data.finalContent, /after/);
  assert.deepEqual(indexes, indexes.map((_, at) => at + 1));
  await watch.close();
  client.close();
});

test("a Core of Node is one for every other process", async (t) => {
  const folder = place(t);
  const socket = join(folder, "galley.sock");
  const core = await Core.start({ database: join(folder, "galley.db"), socket, runtimes: [{ name: "fake", backend: "process", command: [fakeRunner] }] });
  t.after(() => core.shutdown());
  const { code, stdout, stderr } = await node(
    `import { connect } from "galley";
     const client = await connect({ socket: ${JSON.stringify(socket)} });
     const { session } = await client.sessions.create("!say hello", { runtime: "fake" });
     console.log((await client.session(session.id).wait({ untilIdle: true })).status);`,
  );
  assert.equal(stderr, "");
  assert.equal(code, 0);
  assert.equal(stdout, "completed\n");
});
