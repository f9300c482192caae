// Builds the native module and puts it beside the package: `npm run native [-- --release] [-- --target TRIPLE]`.
import { execFileSync } from "node:child_process";
import { copyFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const target = args.includes("--target") ? args[args.indexOf("--target") + 1] : undefined;

/** Platform packages by Rust target. */
const platforms = {
  "aarch64-apple-darwin": "darwin-arm64",
  "x86_64-apple-darwin": "darwin-x64",
  "aarch64-unknown-linux-gnu": "linux-arm64-gnu",
  "aarch64-unknown-linux-musl": "linux-arm64-musl",
  "x86_64-unknown-linux-gnu": "linux-x64-gnu",
  "x86_64-unknown-linux-musl": "linux-x64-musl",
  "x86_64-pc-windows-msvc": "win32-x64-msvc",
};

const host = /^host: (.*)$/m.exec(execFileSync("rustc", ["-vV"], { encoding: "utf8" }))[1];
const platform = platforms[target ?? host];
if (!platform) throw new Error(`no platform package for ${target ?? host}; there are: ${Object.keys(platforms).join(", ")}`);

const build = execFileSync("cargo", ["build", "--package=galley-node", "--message-format=json-render-diagnostics", ...args], {
  cwd: here,
  encoding: "utf8",
  maxBuffer: 1 << 28,
  stdio: ["ignore", "pipe", "inherit"],
});
const messages = build.split("\n").filter(Boolean).map((line) => JSON.parse(line));
const artifact = messages.findLast((message) => message.reason === "compiler-artifact" && message.target.name === "galley_node");
const module = artifact.filenames.find((name) => /\.(so|dylib|dll)$/.test(name));
// Put in place at once: a process that has the old one loaded keeps it.
const place = join(here, `galley.${platform}.node`);
copyFileSync(module, `${place}.new`);
renameSync(`${place}.new`, place);
console.log(place);
