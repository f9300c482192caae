// What is shown to readers runs as it stands.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { node, place, repository } from "./support.mjs";

const blocks = [...readFileSync(join(repository, "docs", "node.md"), "utf8").matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
const quickstart = readFileSync(join(repository, "examples", "node-quickstart.mjs"), "utf8").replace('process.argv[2] ?? "galley.db"', '"galley.db"');

for (const [at, code] of [...blocks, quickstart].entries()) {
  test(`example ${at + 1}`, async (t) => {
    const database = JSON.stringify(join(place(t), "galley.db"));
    const { code: exit, stdout, stderr } = await node(code.replace('"galley.db"', database));
    assert.deepEqual({ exit, stderr }, { exit: 0, stderr: "" });
    assert.match(stdout, /hello/);
  });
}
