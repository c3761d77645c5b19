import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const MILLRACE = at("../../apps/cli/bin/millrace.mjs");

/** Starts a contender or a role, and waits until it says that it listens. */
export async function start(script, args, env) {
  const file = script === "millrace" ? MILLRACE : at(script);
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, LOG_LEVEL: "warn", ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
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

/** Runs a command of ours to its end. */
export async function run(args, env) {
  const child = spawn(process.execPath, [MILLRACE, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`millrace ${args.join(" ")} exited with ${code}`);
}

/** A redis-server of our own, with AOF everysec. */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-redis-"));
  const port = await freePort();
  const args = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const child = spawn("redis-server", [...args, "--appendonly", "yes"].map(String), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve, reject) => {
    child.once("error", () => reject(new Error("Cannot bench: no redis-server on PATH")));
    child.stdout.on("data", (data) => String(data).includes("Ready to accept") && resolve());
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    cpuMs: () => cpuMs(child.pid),
    stop: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Milliseconds of CPU of a Postgres: of the server, of its children, and of those that have ended. */
export function postgresCpuMs(serverPid) {
  const children = pids().filter((pid) => parentOf(pid) === serverPid);
  const ended = readStat(serverPid)?.slice(13, 15) ?? [];
  return [serverPid, ...children].map(cpuMs).reduce(sum, ended.map(Number).reduce(sum, 0) * 10);
}

const sum = (a, b) => a + b;

/** The process that has forked another one; undefined where there is no /proc. */
export function parentOf(pid) {
  const stat = readStat(pid);
  return stat && Number(stat[1]);
}

// User and system time from /proc, in ticks of 10 ms; 0 where there is no /proc.
function cpuMs(pid) {
  const stat = readStat(pid);
  return stat === undefined ? 0 : (Number(stat[11]) + Number(stat[12])) * 10;
}

/** What stands in /proc/<pid>/stat behind the process' name. */
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

/** A TCP port on loopback that nobody listens on just now. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}
