import { join } from "node:path";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { isAlive } from "../is-alive.ts";
import type { Settings } from "../settings.ts";

/** The Postgres that everything stands on: the one of DATABASE_URL, or one of our own. */
export interface Database {
  readonly url: string;
  readonly isEmbedded: boolean;
  stop(): Promise<void>;
  /** Ends it without care; it recovers at the next start. */
  stopAtOnce(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;

/** Uses DATABASE_URL, or starts the embedded Postgres and keeps it alive. */
export async function openDatabase(
  { environment, dataDir }: Settings,
  say: (level: "info" | "warn", message: string) => void,
): Promise<Database> {
  const nothing = async () => {};
  if (environment.DATABASE_URL !== undefined) {
    const url = environment.DATABASE_URL;
    return { url, isEmbedded: false, stop: nothing, stopAtOnce: nothing };
  }

  const log = (line: string) => say("info", line);
  const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, "postgres"), log });
  if (postgres.adopted) say("info", "Found our Postgres still running, and took it over");
  let mending: Promise<void> | undefined;
  const look = setInterval(() => {
    if (mending !== undefined || isAlive(postgres.pid)) return;
    say("warn", "Postgres has died and is started again");
    mending = postgres
      .restart()
      .catch((error: unknown) => say("warn", `Postgres did not start again: ${String(error)}`))
      .finally(() => (mending = undefined));
  }, LOOK_EVERY_MS);

  const end = async (mode: "fast" | "immediate") => {
    clearInterval(look);
    await mending;
    await postgres.stop(mode);
  };
  return {
    url: postgres.url,
    isEmbedded: true,
    stop: () => end("fast"),
    stopAtOnce: () => end("immediate"),
  };
}
