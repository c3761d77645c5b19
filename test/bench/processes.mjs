import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const MILLRACE = at("../../apps/cli/bin/millrace.mjs");
const EXIT_WITH_PARENT = new URL("exit-with-parent.mjs", import.meta.url).href;

/**
 * Starts a contender, a role of ours (`millrace`), or a load, and waits for its message: a server says that
 * it listens, a load that it is done.
 */
export async function start(script, args, env) {
  const file = script === "millrace" ? MILLRACE : at(script);
  const child = spawn(process.execPath, ["--import", EXIT_WITH_PARENT, file, ...args], {
    env: { ...process.env, LOG_LEVEL: "warn", ...env },
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const ended = once(child, "exit");
  const [message] = await Promise.race([
    once(child, "message"),
    ended.then(([code]) => Promise.reject(new Error(`${script} ${args} exited with ${code}`))),
  ]);
  return {
    port: message.port,
    message,
    cpuMs: () => cpuMs(child.pid),
    ended,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export async function run(args, env) {
  const child = spawn(process.execPath, [MILLRACE, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`millrace ${args.join(" ")} exited with ${code}`);
}

/**
 * Milliseconds of CPU of a Postgres: of the server, of its children, and of those that have ended. The
 * backend of the bench itself (`exceptPid`) is left out: to count rows is not the contender's work.
 */
export function postgresCpuMs(serverPid, exceptPid) {
  const children = pids().filter((pid) => pid !== exceptPid && parentOf(pid) === serverPid);
  const ended = readStat(serverPid)?.slice(13, 15) ?? [];
  return [serverPid, ...children]
    .map(backendCpuMs)
    .reduce(sum, ended.map(Number).reduce(sum, 0) * 10);
}

const sum = (a, b) => a + b;

function parentOf(pid) {
  const stat = readStat(pid);
  return stat && Number(stat[1]);
}

export function cpuMs(pid) {
  const stat = readStat(pid);
  return stat === undefined ? 0 : (Number(stat[11]) + Number(stat[12])) * 10;
}

function backendCpuMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return cpuMs(pid);
  }
}

function readStat(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  } catch {
    return undefined;
  }
}

function pids() {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}
