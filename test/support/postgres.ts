import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { copyDataFolder } from "./data-folder.ts";
import { endWithThisProcess } from "./end-with-process.ts";

/** A Postgres of the test's own, to kill and to freeze. */
export interface TestPostgres {
  readonly url: string;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** SIGSTOP and SIGCONT, the backends too. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
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
  return {
    url: postgres.url,
    kill: async () => {
      await postgres.kill();
      release();
    },
    restart: async () => {
      await postgres.restart();
      release();
      release = endWithThisProcess(postgres.pid, folder);
    },
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
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
