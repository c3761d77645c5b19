import { readdir, readlink, realpath } from "node:fs/promises";
import { basename } from "node:path";
import { endProcess } from "./end-process.ts";
import { identifyProcess } from "./process-identity.ts";

/**
 * Ends the server processes that a killed postmaster left at work on its data; a busy one may not
 * look up for hours, and holds the memory that a new postmaster must not share. Only Linux tells
 * which they are; elsewhere they are waited for.
 */
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
