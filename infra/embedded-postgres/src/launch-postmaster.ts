import { spawn } from "node:child_process";
import { open, rename, stat, readdir, readlink, realpath } from "node:fs/promises";
import { join, basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "@millrace/core";
import { answeringPid } from "./ask-server.ts";
import { hasErrno, identifyProcess, type ProcessIdentity, isAlive } from "./process-identity.ts";
import type { ServerFile } from "./server-file.ts";
import { dataArgument, SERVER_ENVIRONMENT, type ServerUser } from "./server-user.ts";

const RECOVERY_MS = 300_000;
const LOG_BYTES_MAX = 10_000_000;

export interface Launch {
  readonly bin: string;
  readonly dataDir: string;
  readonly pgdata: string;
  readonly user: ServerUser | undefined;
  readonly server: ServerFile;
  readonly settings: Readonly<Record<string, string>>;
}

type LaunchResult =
  | { readonly outcome: "up"; readonly identity: ProcessIdentity }
  | { readonly outcome: "port_taken" | "still_held" | "failed"; readonly said: string };

/** In a process group of its own: Ctrl-C in a terminal passes it by, and it outlives us. */
export async function launchPostmaster(launch: Launch): Promise<LaunchResult> {
  const log = await openLog(join(launch.dataDir, "postgres.log"));
  const from = (await log.stat()).size;
  try {
    const child = spawn(join(launch.bin, "postgres"), serverArguments(launch), {
      cwd: launch.pgdata,
      env: SERVER_ENVIRONMENT,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      ...launch.user,
    });
    let failure: Error | undefined;
    child.once("error", (error) => (failure = error));
    child.unref();
    const deadline = Date.now() + RECOVERY_MS;
    while (child.exitCode === null && child.signalCode === null && failure === undefined) {
      if ((await answeringPid(launch.server)) === child.pid && child.pid !== undefined) {
        const identity = await identifyProcess(child.pid);
        if (identity !== undefined) return { outcome: "up", identity };
      }
      if (Date.now() > deadline) child.kill("SIGKILL");
      await sleep(30);
    }
    const said = failure?.message ?? (await tail(log, from));
    return { outcome: reason(said), said };
  } finally {
    await log.close();
  }
}

export function launchError(launch: Launch, said: string): MillraceError {
  const advice = said.includes("incompatible with server")
    ? `Another version of Postgres made the data: dump it with that version, or remove it. `
    : `Its log is ${JSON.stringify(join(launch.dataDir, "postgres.log"))}. `;
  return new MillraceError(
    "postgres_not_started",
    `Cannot start Postgres in ${JSON.stringify(launch.dataDir)}: it ended at once. ${advice}` +
      `Or set DATABASE_URL to a Postgres of your own. It said:\n${said.trim()}`,
  );
}

function serverArguments(launch: Launch): string[] {
  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    port: String(launch.server.port),
    unix_socket_directories: "",
    timezone: "UTC",
    log_timezone: "UTC",
    // The role is called millrace: with "$user" first, tables without a schema would go among ours.
    search_path: "public",
    // A DETAIL line holds values of rows, which may be a customer's.
    log_error_verbosity: "terse",
    ...launch.settings,
  };
  const pairs = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return ["-D", dataArgument(launch.pgdata, launch.user), ...pairs];
}

function reason(said: string): "port_taken" | "still_held" | "failed" {
  if (said.includes("could not create any TCP/IP sockets")) return "port_taken";
  // Children of a postmaster that was killed hold its memory until they notice.
  if (said.includes("pre-existing shared memory block")) return "still_held";
  return "failed";
}

async function openLog(path: string) {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && found.size > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  return open(path, "a+", 0o600);
}

async function tail(log: Awaited<ReturnType<typeof open>>, from: number): Promise<string> {
  const buffer = Buffer.alloc(4_096);
  const { bytesRead } = await log.read(buffer, 0, buffer.length, from);
  return buffer.toString("utf8", 0, bytesRead);
}

const PATIENCE_MS = { SIGINT: 15_000, SIGQUIT: 5_000, SIGKILL: 10_000 } as const;

/** Ends that very process by the first of the signals that works, each with its own patience. */
export async function endProcess(
  identity: ProcessIdentity,
  signals: readonly (keyof typeof PATIENCE_MS)[],
): Promise<void> {
  for (const signal of signals) {
    if (!(await isAlive(identity))) return;
    try {
      process.kill(identity.pid, signal);
    } catch (error) {
      // It may have ended between the look and the signal.
      if (!hasErrno(error, "ESRCH")) throw error;
    }
    const deadline = Date.now() + PATIENCE_MS[signal];
    while (Date.now() < deadline) {
      if (!(await isAlive(identity))) return;
      await sleep(20);
    }
  }
  if (await isAlive(identity))
    throw new Error(`Cannot end process ${identity.pid}: it is still running`);
}

/** They hold the memory that a new postmaster must not share. Only Linux shows which they are. */
export async function endOrphans(pgdata: string): Promise<void> {
  const folder = await realpath(pgdata);
  for (const name of await readdir("/proc").catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || !(await isServerProcess(pid, folder))) continue;
    const identity = await identifyProcess(pid);
    if (identity !== undefined) await endProcess(identity, ["SIGKILL"]);
  }
}

async function isServerProcess(pid: number, folder: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (cwd !== folder) return false;
  const program = await readlink(`/proc/${pid}/exe`).catch(() => "");
  return basename(program.replace(/ \(deleted\)$/, "")) === "postgres";
}
