import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanEnvironment } from "./environment.mjs";
import { endProcesses, processesOf } from "./processes.mjs";

const NOBODY = 65_534;
const READY_MS = 300_000;
const STOP_MS = 60_000;

/**
 * Makes a fresh clone of HEAD in a folder of its own (0700), and gives the acts on it. `user` is
 * `nobody` or undefined for ourselves, `folder` the clone's name, `env` what differs from an
 * environment without a locale and without anything of Millrace or npm.
 */
export function makeClone(root, { user, env = {}, folder: name = "millrace", bare = false }) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-try-"));
  const path = join(folder, name);
  const cloned = spawnSync("git", ["clone", "-q", root, path], { encoding: "utf8" });
  if (cloned.status !== 0) throw new Error(`Cannot clone: ${cloned.stderr}`);
  if (bare) rmSync(join(path, ".git"), { recursive: true });
  const ids = user === "nobody" ? { uid: NOBODY, gid: NOBODY } : {};
  if (user === "nobody") spawnSync("chown", ["-R", `${NOBODY}:${NOBODY}`, folder]);
  const logs = join(folder, "logs");
  mkdirSync(logs);
  return {
    folder,
    path,
    logs,
    options: { cwd: path, env: { ...cleanEnvironment(root), ...env }, ...ids },
  };
}

/** Ends what is left of a clone, and removes it; gives what was left. */
export async function removeClone(clone, keep) {
  const left = processesOf(clone.folder);
  await endProcesses(left);
  if (!keep) rmSync(clone.folder, { recursive: true, force: true });
  return left;
}

/** Starts `npm <args>` as a terminal does, in a process group of its own; its words go to a log. */
export function npm(clone, args) {
  const log = join(clone.logs, `${args.join("-")}-${Date.now()}.log`);
  const output = openSync(log, "a");
  const child = spawn("npm", args, {
    ...clone.options,
    detached: true,
    stdio: ["ignore", output, output],
  });
  const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  return { child, ended, said: () => readFileSync(log, "utf8") };
}

/** Waits until a start has written `run.json`, and gives it. */
export async function ready(clone, started) {
  const deadline = Date.now() + READY_MS;
  let end;
  void started.ended.then((result) => (end = result));
  while (Date.now() < deadline) {
    const run = readRun(clone);
    if (run !== undefined) return run;
    if (end !== undefined) throw new Error(`npm start ended with ${end.code}:\n${started.said()}`);
    await sleep(100);
  }
  throw new Error(`npm start was not ready within ${READY_MS / 1000} s:\n${started.said()}`);
}

/** Signals npm, waits for its end, and fails when a process of the clone outlives it. */
export async function stop(clone, started, { signal = "SIGTERM", group = false } = {}) {
  process.kill(group ? -started.child.pid : started.child.pid, signal);
  const outcome = await Promise.race([started.ended, sleep(STOP_MS, undefined, { ref: false })]);
  if (outcome === undefined) throw new Error(`npm lives ${STOP_MS / 1000} s after ${signal}`);
  const left = processesOf(clone.folder);
  if (left.length > 0) throw new Error(`${signal} to npm left processes: ${describe(left)}`);
  return outcome;
}

/** Runs the millrace command in the clone to its end. */
export function millrace(clone, args) {
  return command(clone, process.execPath, [join("apps", "cli", "bin", "millrace.mjs"), ...args]);
}

export function command(clone, program, args) {
  const result = spawnSync(program, args, { ...clone.options, encoding: "utf8", timeout: 60_000 });
  if (result.status !== 0) {
    throw new Error(`${program} ${args.join(" ")} ended with ${result.status}: ${result.stderr}`);
  }
  return result.stdout;
}

/** Sends an event and waits until the ledger has it completed. */
export async function sendOne(clone) {
  const before = completed(clone).length;
  millrace(clone, ["send", "hookmesh"]);
  await sees(clone, before + 1);
}

/** Waits until the ledger has that many events completed. */
export async function sees(clone, count) {
  const deadline = Date.now() + 60_000;
  while (completed(clone).length < count) {
    if (Date.now() > deadline) {
      throw new Error(`The ledger has ${completed(clone).length} events completed, not ${count}`);
    }
    await sleep(300);
  }
}

function completed(clone) {
  const lines = millrace(clone, ["events", "--json"]).trim().split("\n");
  return lines.filter((line) => line !== "" && JSON.parse(line).status === "completed");
}

// A start that was killed leaves its run.json behind.
function readRun(clone) {
  try {
    const run = JSON.parse(readFileSync(join(clone.path, ".millrace", "run.json"), "utf8"));
    process.kill(run.pid, 0);
    return run;
  } catch {
    return undefined;
  }
}

export function describe(processes) {
  return processes.map(({ pid, command: words }) => `${pid} ${words}`).join("; ");
}
