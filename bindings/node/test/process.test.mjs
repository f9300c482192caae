import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { connect } from "galley";
import { command, node, place, serve } from "./support.mjs";

const run = promisify(execFile);
const galley = (...args) => run(process.execPath, [command, ...args]).catch((error) => error);

test("a process ends by itself with a Core, a client and a stream open", async (t) => {
  const database = join(place(t), "galley.db");
  const { code, stdout, stderr } = await node(
    `import { Core } from "galley";
     const core = await Core.start({ database: ${JSON.stringify(database)} });
     const client = core.client();
     const { session } = await client.sessions.create("sleep 60", { approvalMode: "auto" });
     const watch = client.session(session.id).watch({ from: "start", stay: true });
     await watch.next();
     const background = client.session(session.id).watch({ from: "now", stay: true }).unref();
     background.next();
     console.log("over");`,
  );
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "over\n", stderr: "" });
});

test("many short processes with a watch open end cleanly", { timeout: 180_000 }, async (t) => {
  const { socket } = await serve(t, place(t));
  const client = await connect({ socket });
  const { session } = await client.sessions.create("true", { approvalMode: "auto" });
  const source = `import { connect } from "galley";
     const client = await connect({ socket: ${JSON.stringify(socket)} });
     const watch = client.session(${JSON.stringify(session.id)}).watch({ from: "start", stay: true });
     await watch.next();
     watch.unref();
     for (let i = 0; i < 100; i++) watch.next();`;
  const ends = [];
  for (let at = 0; at < 20; at++) ends.push(...(await Promise.all(Array.from({ length: 2 }, () => node(source)))));
  for (const { code, signal, stderr } of ends) assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: "" });
  client.close();
});

test("worker threads load it, use it and go", async (t) => {
  const database = join(place(t), "galley.db");
  const { code, stdout, stderr } = await node(
    `import { Core } from "galley";
     import { Worker } from "node:worker_threads";
     import { once } from "node:events";
     const socket = ${JSON.stringify(`${database}.sock`)};
     const core = await Core.start({ database: ${JSON.stringify(database)}, socket });
     const source = \`import("galley").then(async ({ connect }) => {
       const client = await connect({ socket: process.env.GALLEY_SOCKET_PATH });
       const { session } = await client.sessions.create("echo worker", { approvalMode: "auto" });
       const { status } = await client.session(session.id).wait({ untilIdle: true });
       require("node:worker_threads").parentPort.postMessage(status);
     })\`;
     for (let round = 0; round < 3; round++) {
       const workers = [0, 1].map(() => new Worker(source, { eval: true, execArgv: [], env: { GALLEY_SOCKET_PATH: socket } }));
       for (const worker of workers) worker.on("message", (status) => console.log(status));
       await Promise.all(workers.map((worker) => once(worker, "exit")));
     }
     const idle = new Worker('const { connect } = require("galley"); connect({ socket: process.env.GALLEY_SOCKET_PATH }).then((client) => { client.sessions.watch().next(); client.sessions.watch().next(); require("node:worker_threads").parentPort.postMessage(0); })', { eval: true, execArgv: [], env: { GALLEY_SOCKET_PATH: socket } });
     await once(idle, "message");
     await idle.terminate();
     await core.shutdown();`,
  );
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "completed\n".repeat(6), stderr: "" });
});

test("the galley command is the same command", async (t) => {
  const folder = place(t);
  assert.equal(JSON.parse((await galley("version")).stdout).schemaVersion, 1);
  const wrong = await galley("session", "nonsense");
  assert.equal(wrong.code, 2);
  assert.equal(JSON.parse(wrong.stdout).error, "invalid_args");
  const ran = await galley("--db", join(folder, "galley.db"), "--socket", join(folder, "s.sock"), "run", "--auto", "echo from run; exit 3");
  assert.equal(ran.code, 3);
  assert.match(ran.stdout, /from run/);
});

test("galley serve ends politely at a signal", { skip: process.platform === "win32" && "no signals" }, async (t) => {
  const { child, ended } = await serve(t, place(t));
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});
