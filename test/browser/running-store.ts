import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { millrace, STORE_CONFIG } from "../cli/run-in-process.ts";
import { startMillrace } from "../cli/start-process.ts";
import { scratchDatabase } from "../support/scratch-database.ts";

/** A `millrace start` of the example store, and the command beside it. */
export interface RunningStore {
  readonly dashboardUrl: string;
  readonly databaseUrl: string;
  /** Runs a command line in the store's folder. @throws when it fails. */
  command(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the example store on a fresh database, with its queues there too. */
export async function startStore(
  env: Readonly<Record<string, string>> = {},
): Promise<RunningStore> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-browser-"));
  const database = await scratchDatabase();
  const settings = { MILLRACE_CONFIG: STORE_CONFIG, DATABASE_URL: database.url, ...env };
  const running = startMillrace(dataDir, settings);
  const stop = async () => {
    running.signal("SIGTERM");
    await running.ended;
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await running.greeted();
  } catch (error) {
    await stop();
    throw error;
  }
  const { dashboard_url: dashboardUrl } = await running.run();
  return {
    dashboardUrl,
    databaseUrl: database.url,
    command: async (...args) => {
      const { code, stdout, stderr } = await millrace(args, {
        env: { ...settings, MILLRACE_DATA_DIR: dataDir },
      });
      if (code !== 0) throw new Error(`Cannot run millrace ${args.join(" ")}: ${stdout}${stderr}`);
      return stdout;
    },
    stop,
  };
}
