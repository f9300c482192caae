"use strict";
/** Standard input and output, claimed for the protocol so that nothing else can touch them. */

const { spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const net = require("node:net");
const { MAX_LINE, encode } = require("./wire.cjs");

/** Set in a program that was started once more, with the protocol on these descriptors. */
const PIPES = "GALLEY_RUNNER_PIPES";

/**
 * Takes standard input and output away from everybody else: what the agent or its children read is empty
 * from here on, and what they print goes to standard error.
 * @returns {{ input: number, output: number } | undefined} the protocol's descriptors; nothing when the
 *   program was started once more to get them, and this process only waits for it
 */
function claim() {
  const pipes = process.env[PIPES]?.split(",").map(Number);
  delete process.env[PIPES];
  if (pipes) return { input: pipes[0] ?? 0, output: pipes[1] ?? 1 };
  const reopened = process.platform === "win32" ? undefined : reopen();
  if (!reopened) startAgain();
  return reopened;
}

/** Node has no `dup`: a pipe or file is opened anew through its descriptor's name, a socket cannot be. */
function reopen() {
  const { O_RDONLY, O_WRONLY, O_APPEND, O_NONBLOCK } = fs.constants;
  /** @type {number[]} */
  const opened = [];
  const open = (/** @type {string} */ path, /** @type {number} */ flags) => {
    const fd = fs.openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  try {
    const input = open("/dev/fd/0", O_RDONLY | O_NONBLOCK);
    const output = open("/dev/fd/1", O_WRONLY | O_APPEND | O_NONBLOCK);
    fs.closeSync(open("/dev/fd/2", O_WRONLY | O_APPEND));
    // What is opened next gets the lowest free descriptor: the one just closed.
    fs.closeSync(0);
    fs.openSync("/dev/null", O_RDONLY);
    fs.closeSync(1);
    fs.openSync("/dev/fd/2", O_WRONLY | O_APPEND);
    return { input, output };
  } catch {
    opened.slice(0, 2).forEach((fd) => fs.closeSync(fd));
    return undefined;
  }
}

/** Starts this program once more with the protocol's pipes where nobody looks for them. */
function startAgain() {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ["ignore", 2, 2, 0, 1],
    env: { ...process.env, [PIPES]: "3,4" },
  });
  child.on("exit", (code) => process.exit(code ?? 1));
  for (const signal of /** @type {const} */ (["SIGTERM", "SIGINT"])) process.on(signal, () => child.kill(signal));
}

/** Writes events, whole and in order. */
class EventWriter {
  /** @type {import("node:stream").Writable} */
  #stream;
  #sessionId;
  #broken = false;

  /**
   * @param {number} fd
   * @param {string} sessionId
   */
  constructor(fd, sessionId) {
    this.#sessionId = sessionId;
    this.#stream = stream(fd, "write");
    // Once nobody reads any more, events are dropped: the end of the input is not far.
    this.#stream.on("error", () => (this.#broken = true));
  }

  /** Waits until what was written is nearly all on its way. */
  async room() {
    while (this.#stream.writableNeedDrain && !this.#broken) {
      await once(this.#stream, "drain").catch(() => undefined);
    }
  }

  /**
   * @param {string} kind
   * @param {Record<string, unknown>} [fields]
   */
  write(kind, fields = {}) {
    if (this.#broken) return;
    const timestamp = new Date().toISOString();
    this.#stream.write(encode({ ...fields, kind, sessionId: this.#sessionId, timestamp }));
  }

  /** Waits until all that was written is on its way. */
  flush() {
    return /** @type {Promise<void>} */ (new Promise((resolve) => this.#stream.end(() => resolve())));
  }
}

/**
 * The lines of `fd`, without their ends; for one that is too long, its size. A last line without its end
 * is dropped, as its end never came.
 * @param {number} fd
 * @returns {AsyncGenerator<string | number, void, void>}
 */
async function* lines(fd) {
  /** @type {Buffer[]} */
  let parts = [];
  let size = 0;
  for await (const chunk of stream(fd, "read")) {
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      const last = chunk.subarray(start, end);
      size += last.length;
      if (size > MAX_LINE) {
        yield size;
      } else {
        // Bytes that are not UTF-8 are replaced: they are in somebody's text.
        const line = Buffer.concat([...parts, last]).toString("utf8").replace(/\r$/, "");
        if (line) yield line;
      }
      parts = [];
      size = 0;
    }
    const rest = chunk.subarray(start);
    size += rest.length;
    if (size > MAX_LINE) parts = [];
    else parts.push(rest);
  }
}

/**
 * A stream that does not occupy a thread while it waits, where the descriptor allows it.
 * @param {number} fd
 * @param {"read" | "write"} way
 * @returns {any}
 */
function stream(fd, way) {
  try {
    return new net.Socket({ fd, readable: way === "read", writable: way === "write" });
  } catch {
    return way === "read" ? fs.createReadStream("", { fd }) : fs.createWriteStream("", { fd });
  }
}

module.exports = { EventWriter, claim, lines };
