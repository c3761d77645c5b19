import { readdir, readlink, realpath } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, type ProcessIdentity, identifyProcess } from "./process-identity.ts";

const PATIENCE_MS = { SIGINT: 15_000, SIGQUIT: 5_000, SIGKILL: 10_000 } as const;

/** Ends that very process by the first of the signals that works, each with its own patience. */
export async function endProcess(
  identity: ProcessIdentity,
  signals: readonly (keyof typeof PATIENCE_MS)[],
): Promise<void> {
  for (const signal of signals) {
    if (!(await isAlive(identity))) return;
    trySignal(identity.pid, signal);
    const deadline = Date.now() + PATIENCE_MS[signal];
    while (Date.now() < deadline) {
      if (!(await isAlive(identity))) return;
      await sleep(20);
    }
  }
  if (await isAlive(identity))
    throw new Error(`Cannot end process ${identity.pid}: it is still running`);
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It may have ended between the look and the signal.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
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
