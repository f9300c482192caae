// What the tests share: temporary places, Cores in this process and in others, and the fake runner.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, Core } from "galley";

export const packageDir = dirname(dirname(fileURLToPath(import.meta.url)));
export const repository = dirname(dirname(packageDir));
export const command = join(packageDir, "dist", "main.js");

const target = process.env.CARGO_TARGET_DIR ?? join(repository, "target");
const suffix = process.platform === "win32" ? ".exe" : "";
/** The runner that does what its messages say; `cargo build -p galley-testkit` makes it. */
export const fakeRunner = process.env.GALLEY_TEST_RUNNER ?? join(target, "debug", `galley-testkit-runner${suffix}`);

/** A temporary folder that goes with the test. */
export function place(t) {
  const folder = mkdtempSync(join(tmpdir(), "galley-node-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A Core in this process, with the fake runner as the runtime `fake`. */
export async function embedded(t, options = {}) {
  if (!existsSync(fakeRunner)) throw new Error(`${fakeRunner} is missing; run cargo build -p galley-testkit`);
  const folder = place(t);
  const core = await Core.start({
    database: join(folder, "galley.db"),
    runtimes: [{ name: "fake", backend: "process", command: [fakeRunner] }],
    ...options,
  });
  t.after(() => core.shutdown());
  return { core, client: core.client(), folder };
}

/** A `galley serve` of its own; resolves once it answers. */
export async function serve(t, folder) {
  const socket = join(folder, "galley.sock");
  const child = spawn(process.execPath, [command, "--db", join(folder, "galley.db"), "--socket", socket, "serve"], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const ended = once(child, "exit");
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  // A Core that was killed leaves its socket behind: only an answer shows that this one listens.
  const client = new Client({ socket });
  await until(() => {
    if (child.exitCode !== null) throw new Error(`galley serve ended with ${child.exitCode}: ${said}`);
    return client.ping().catch(() => false);
  });
  client.close();
  return { child, socket, ended };
}

/** Waits for a condition. */
export async function until(condition, patience = 20_000) {
  const deadline = Date.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${patience} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Runs JavaScript in a Node of its own, as a module, and gives its exit code and output. */
export async function node(source, { args = [], env = {} } = {}) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", source, ...args], { cwd: packageDir, env: { ...process.env, ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
  const [code, signal] = await once(child, "close");
  clearTimeout(timer);
  return { code, signal, stdout, stderr };
}
