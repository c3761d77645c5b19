import {
  connectionsGiven,
  dashboardConnections,
  ingressConnections,
  workerConnections,
} from "@millrace/connect";
import { type Config, MillraceError } from "@millrace/core";
import { answersSignal, startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { connectionsWanted, type QueueRole } from "@millrace/queue";
import { withPool, type Stores } from "../stores.ts";
import type { Settings } from "../context.ts";
import { join } from "node:path";

export type Database = Awaited<ReturnType<typeof openDatabase>>;

const LOOK_EVERY_MS = 1_000;

export async function openDatabase(
  { environment, dataDir }: Settings,
  say: (level: "info" | "warn", message: string) => void,
) {
  const nothing = async () => {};
  if (environment.DATABASE_URL !== undefined) {
    const url = environment.DATABASE_URL;
    return { url, isEmbedded: false, stop: nothing, stopAtOnce: nothing };
  }

  const log = (line: string) => say("info", line);
  const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, "postgres"), log });
  if (postgres.adopted) say("info", "Found the embedded Postgres still running; using it");
  let restarting: Promise<void> | undefined;
  const look = setInterval(() => {
    if (restarting !== undefined || answersSignal(postgres.pid)) return;
    say("warn", "Postgres died and is being restarted");
    restarting = postgres
      .restart()
      .catch((error: unknown) => say("warn", `Postgres could not be restarted: ${String(error)}`))
      .finally(() => (restarting = undefined));
  }, LOOK_EVERY_MS);

  const end = async (mode: "fast" | "immediate") => {
    clearInterval(look);
    await restarting;
    await postgres.stop(mode);
  };
  return {
    url: postgres.appUrl,
    isEmbedded: true,
    stop: () => end("fast"),
    stopAtOnce: () => end("immediate"),
  };
}

/** For commands that run at the same time: send needs none, the others up to four. */
const COMMANDS = 8;

/** @throws `too_many_connections`: processes without one would wait for each other under load. */
export async function checkConnections(
  config: Config,
  { DATABASE_URL, REDIS_URL }: Stores,
  workers: number,
): Promise<void> {
  const queue = (role: QueueRole) => (REDIS_URL === undefined ? connectionsWanted(role) : 0);
  const ingress = ingressConnections + queue("ingress");
  const worker = workerConnections(config.worker.concurrency) + queue("worker");
  const dashboard = dashboardConnections + queue("dashboard");
  const wanted = ingress + workers * worker + dashboard + COMMANDS;
  const options = { url: DATABASE_URL, max: 1, applicationName: "millrace-start" };
  const available = await withPool(options, connectionsGiven);
  if (wanted <= available) return;
  throw new MillraceError(
    "too_many_connections",
    `Cannot start ${workers} workers: all pools together may take ${wanted} connections, and ` +
      `Postgres gives ${available}. Lower --workers or worker.concurrency, or raise max_connections`,
  );
}
