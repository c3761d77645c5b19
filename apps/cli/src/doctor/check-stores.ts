import { isMillraceError } from "@millrace/core";
import { checkSchema, findLeader, type createPool, type Ledger } from "@millrace/ledger";
import { changedQueues, RECONCILER } from "@millrace/operations";
import { checkRedis, type Queues } from "@millrace/queue";
import type { Stores } from "../stores.ts";
import type { MigrationPart } from "../migrate.ts";
import { bad, check, ok, type Check } from "./report.ts";

type Pool = ReturnType<typeof createPool>;

const POSTGRES_MIN = 14;
/** A leader is seen at each pass, and every few seconds within a long one. */
const SEEN_MS_MAX = 60_000;

/** Whether Postgres is one that Millrace can use. */
export function checkPostgres(pool: Pool): Promise<Check> {
  return check("postgres", async () => {
    const { rows } = await pool.query<{ server_version: string }>("SHOW server_version");
    const version = rows[0]?.server_version ?? "";
    const detail = `version ${version}`;
    return Number.parseInt(version) >= POSTGRES_MIN
      ? ok(detail)
      : bad(detail, `Use Postgres ${POSTGRES_MIN} or later`);
  });
}

/** Whether a part of the tables is this build's, or the user's, as its migrations have it. */
export function checkTables(pool: Pool, { name, options }: MigrationPart): Promise<Check> {
  return check(name === "ledger" ? "schema" : "your tables", async () => {
    try {
      await checkSchema(pool, options);
      return ok("up to date");
    } catch (error) {
      if (isMillraceError(error) && error.code.startsWith("migration_")) return bad(error.message);
      throw error;
    }
  });
}

/** Whether the queue's server keeps what it is given. */
export function checkQueue({ redisUrl }: Stores): Promise<Check> {
  return check("queue", async () => {
    if (redisUrl === undefined) return ok("on Postgres");
    try {
      const { version, aof } = await checkRedis(redisUrl, { allowVolatile: true });
      const detail = `Redis ${version}, noeviction, AOF ${aof ? "on" : "off"}`;
      return aof
        ? ok(detail)
        : bad(
            `${detail}: a restart loses what waits`,
            "redis-cli CONFIG SET appendonly yes (and in redis.conf)",
          );
    } catch (error) {
      if (isMillraceError(error) && error.code === "redis_evicts") return bad(error.message);
      throw error;
    }
  });
}

/** Whether the queues are those that the ledger was last compared with. */
export function checkEpochs(ledger: Ledger, queues: Queues): Promise<Check> {
  return check("epochs", async () => {
    const changed = await changedQueues({ ledger, queues });
    if (changed.length === 0) return ok("the queues are those that were compared last");
    return bad(
      `new, restarted, flushed or restored and not compared since: ${changed.toSorted().join(", ")}`,
      "A worker compares them within a minute: see that one runs",
    );
  });
}

/** Whether some worker reconciles. */
export function checkReconciler(pool: Pool): Promise<Check> {
  return check("reconciler", async () => {
    const leader = await findLeader(pool, RECONCILER);
    if (leader === undefined)
      return bad("no worker reconciles", "Start a worker: `millrace worker`");
    const { address = "this machine", seenMsAgo } = leader;
    if (seenMsAgo === undefined) return ok("a worker leads; this role may not see which");
    const detail = `a worker at ${address} leads, last seen ${Math.round(seenMsAgo / 1_000)} s ago`;
    return seenMsAgo > SEEN_MS_MAX
      ? bad(detail, "Restart that worker; its log says why")
      : ok(detail);
  });
}
