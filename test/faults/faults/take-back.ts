import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { until } from "../../support/until.ts";
import type { Fault } from "./fault.ts";

const run = promisify(execFile);

/** Milliseconds until what had ended has ended again. */
const REPAIR_MS = 120_000;
/** Milliseconds before the restore by which an event must have arrived to be counted: most of those have ended. */
const SETTLED_MS = 5_000;
/** An emitted event is received anew when its parent runs again. */
const ENDED = `millrace.events
  where status <> 'pending' and parent_event_id is null and received_at <= to_timestamp($1 / 1000.0)`;

/** F28: Postgres is put back to a copy of some seconds ago, and Redis is not. */
export const restorePostgres: Fault = {
  id: "F28",
  title: "Postgres restored to an earlier time under load",
  uses: ["postgres", "worker"],
  // With the ledger first, only Postgres had the bodies of those seconds.
  applies: ({ backend, ack }) => backend === "redis" && ack === "queue",
  // Of all that was delivered before it, nobody can say any longer how often it was attempted.
  byName: true,
  ways: {
    restored: async ({ environment, random, log }) => {
      const { servers, folder } = environment;
      const data = servers.postgres.dataDir;
      const backup = join(folder, "postgres-backup");
      await sleep(random.between(2_000, 4_000));
      await servers.postgres.kill();
      await rm(backup, { recursive: true, force: true });
      await run("cp", ["-a", data, backup]);
      await servers.restartPostgres();
      const backedUpAtMs = Date.now();
      await sleep(random.between(8_000, 15_000));
      const arrivedByMs = Date.now() - SETTLED_MS;
      const ended = () => environment.count(ENDED, [arrivedByMs]);
      const before = await environment.count(ENDED, [backedUpAtMs]);
      const after = await ended();
      await servers.postgres.kill();
      await rm(data, { recursive: true, force: true });
      await run("cp", ["-a", backup, data]);
      for (const key of log.accounts.keys()) environment.undone.add(key);
      await servers.restartPostgres();
      environment.strike("F28", `Postgres restored: ${after - before} ended events undone`);
      // One restore at a time: nobody restores again what is still being repaired.
      await until(async () => (await ended()) >= after, { withinMs: REPAIR_MS });
    },
  },
};
