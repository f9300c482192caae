"use strict";
/** The processes around a runner: the one that started it, and those it started itself. */

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");

/** How often the parent is looked at, in milliseconds. */
const POLL = 1000;
/** How often what is left is killed, before a program that forks for ever is given up. */
const ROUNDS = 5;

/** @typedef {{ pid: number, parent: number, group: number, started: string }} Process */

/**
 * Calls `gone` once when the process named by `GALLEY_CORE_PID`, or this process's parent, has ended.
 *
 * Standard input ends with it as well; this helps where somebody else keeps that pipe open.
 * @param {() => void} gone
 */
function watchParent(gone) {
  const pid = Number(process.env.GALLEY_CORE_PID);
  const parent = process.ppid;
  const first = pid && pid !== parent ? find(pid) : undefined;
  const alive = () => {
    // An orphan gets another parent, so a reused id cannot deceive.
    if (process.ppid !== parent) return false;
    return !pid || pid === parent || (first !== undefined && find(pid)?.started === first.started);
  };
  const timer = setInterval(() => {
    if (!alive()) {
      clearInterval(timer);
      gone();
    }
  }, POLL);
  timer.unref();
}

/**
 * Kills what this process and its children have started: all below it, and all in its process group when
 * it leads one. On Windows, Galley's job object holds them.
 */
function endDescendants() {
  if (process.platform === "win32") return;
  for (let round = 0; round < ROUNDS; round += 1) {
    const doomed = descendants(table());
    if (!doomed.length) return;
    for (const pid of doomed) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }
  }
}

/** @param {Process[]} all */
function descendants(all) {
  const own = process.pid;
  const leads = all.some((one) => one.pid === own && one.group === own);
  const found = new Set([own]);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const one of all) if (found.has(one.parent) || (leads && one.group === own)) found.add(one.pid);
  }
  found.delete(own);
  return [...found];
}

/** @returns {Process[]} */
function table() {
  if (process.platform !== "linux") return listed(["-A"]);
  const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => find(Number(pid)) ?? []);
}

/**
 * The process with this id, unless it has ended.
 * @param {number} pid
 * @returns {Process | undefined}
 */
function find(pid) {
  if (process.platform === "win32") {
    try {
      process.kill(pid, 0);
      return { pid, parent: 0, group: 0, started: "" };
    } catch {
      return undefined;
    }
  }
  if (process.platform !== "linux") return listed(["-p", String(pid)])[0];
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name, in parentheses, may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    return { pid, parent: Number(fields[1]), group: Number(fields[2]), started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

/**
 * Processes as `ps` lists them, without itself and without the dead.
 * @param {string[]} which
 */
function listed(which) {
  const ps = spawnSync("ps", [...which, "-o", "pid=,ppid=,pgid=,state=,lstart="], { encoding: "utf8" });
  return (ps.stdout ?? "").split("\n").flatMap((line) => {
    const [pid, parent, group, state, ...started] = line.trim().split(/\s+/);
    if (!pid || !state || state.startsWith("Z") || Number(pid) === ps.pid) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), started: started.join(" ") }];
  });
}

module.exports = { endDescendants, watchParent };
