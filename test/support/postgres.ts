import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { copyDataFolder } from "./data-folder.ts";
import { endWithThisProcess } from "./end-with-process.ts";

export type TestPostgres = Awaited<ReturnType<typeof startPostgres>>;

export async function startPostgres() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"));
  const dataDir = join(folder, "postgres");
  await copyDataFolder(dataDir);
  const postgres = await startEmbeddedPostgres({ dataDir });
  let release = endWithThisProcess(postgres.pid, folder);
  // The postmaster first, so that it makes no further backend.
  const signalAll = (signal: NodeJS.Signals) => {
    process.kill(postgres.pid, signal);
    for (const pid of childrenOf(postgres.pid)) signalIfThere(pid, signal);
  };
  const kill = async () => {
    await postgres.kill();
    release();
  };
  const restart = async () => {
    await postgres.restart();
    release();
    release = endWithThisProcess(postgres.pid, folder);
  };
  const copy = async (from: string, to: string) => {
    await rm(to, { recursive: true, force: true });
    // Its files are those of the user that it runs as.
    execFileSync("cp", ["-a", from, to]);
  };
  const backup = join(folder, "backup");
  return {
    url: postgres.url,
    kill,
    restart,
    backUp: async () => {
      await kill();
      await copy(dataDir, backup);
      await restart();
    },
    restore: async () => {
      await kill();
      await copy(backup, dataDir);
      await restart();
    },
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    log: () => readFile(join(dataDir, "postgres.log"), "utf8"),
    stop: async () => {
      await postgres.stop("immediate");
      release();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// A backend may end between being seen and being told.
function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function childrenOf(pid: number): number[] {
  const output = execFileSync("ps", ["-A", "-o", "ppid=,pid="], { encoding: "utf8" });
  return output
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([parent, child]) => (parent === pid && child !== undefined ? [child] : []));
}
