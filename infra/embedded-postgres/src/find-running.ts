import { readFile, readlink, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answeringPid } from "./ask-server.ts";
import { endProcess } from "./end-process.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "./process-identity.ts";
import { runTool } from "./server-user.ts";
import type { ServerFile } from "./server-file.ts";

const PATIENCE_MS = 60_000;

/**
 * The postmaster that already serves this data and answers, to be adopted. One that is going down
 * is waited for, one that neither answers nor ends within a minute is ended, and the pid file of
 * one that is gone is removed.
 */
export async function findRunning(
  pgdata: string,
  server: ServerFile,
): Promise<{ port: number; identity: ProcessIdentity } | undefined> {
  const path = join(pgdata, "postmaster.pid");
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const lines = (await readFile(path, "utf8").catch(() => "")).split("\n");
    const pid = Number(lines[0]);
    const identity = await identifyProcess(pid);
    if (identity === undefined || !(await servesData(pid, pgdata))) {
      await rm(path, { force: true });
      return undefined;
    }
    const port = Number(lines[3]);
    if (port > 0 && (await answeringPid({ ...server, port })) === pid) return { port, identity };
    if (Date.now() > deadline) await endProcess(identity, ["SIGQUIT", "SIGKILL"]);
    if (await isAlive(identity)) await sleep(100);
  }
}

async function servesData(pid: number, pgdata: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (cwd !== undefined) return cwd === (await realpath(pgdata));
  if (process.platform === "linux") return false;
  const listed = await runTool("/bin/ps", ["-o", "command=", "-p", String(pid)], {
    cwd: "/",
    user: undefined,
  });
  return listed.output.includes(pgdata);
}
