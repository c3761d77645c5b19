import { queueKeys } from "@millrace/connect";
import { isMillraceError, type Config, type ErrorCode } from "@millrace/core";
import {
  checkSchema,
  findLeader,
  type createPool,
  type KeptChange,
  type Ledger,
} from "@millrace/ledger";
import { changedQueues, findLedgerChanges, RECONCILER } from "@millrace/operations";
import {
  isDiskSlow,
  readAppendfsync,
  readRedisFacts,
  redisFaults,
  type Queues,
} from "@millrace/queue";
import type { MigrationPart } from "../commands/migrate.ts";
import { bad, check, note, ok, type Check } from "./report.ts";

type Pool = ReturnType<typeof createPool>;

/** Checks that one part of the tables is up to date with its migrations. */
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

/** Checks that Redis keeps its jobs, has the replicas of the config, and that jobs are signed. */
export function checkRedisQueue(
  { redisUrl, queueKey }: { redisUrl: string; queueKey?: string | undefined },
  options: { allowVolatile: boolean; queue: Pick<Config["queue"], "replicas"> },
): Promise<Check> {
  return check("queue", async () => {
    const key = keyFault({ redisUrl, queueKey });
    if (key !== undefined) return bad(key.detail, key.fix);
    const facts = await readRedisFacts(redisUrl).catch(asMisfit);
    if (typeof facts === "string") return bad(facts);
    const { version, maxmemoryPolicy, aof, replicas } = facts;
    const appendfsync = aof ? await readAppendfsync(redisUrl) : undefined;
    const persists = aof ? `AOF on (appendfsync ${appendfsync ?? "not visible"})` : "AOF off";
    const signs = queueKey === undefined ? "jobs not signed" : "jobs signed";
    const online = replicas === 0 ? "" : `, ${replicas} online`;
    const detail = `Redis ${version}, ${maxmemoryPolicy}, ${persists}${online}, ${signs}`;
    const faults: Fault[] = [
      ...redisFaults(facts),
      ...appendfsyncFault(appendfsync),
      ...replicaFault(replicas, options.queue.replicas),
    ];
    const isAccepted = ({ code }: Fault) => code === "redis_volatile" && options.allowVolatile;
    if (faults.length === 0) return ok(detail);
    const details = [detail, ...faults.map((fault) => fault.detail)].join("; ");
    const fixes = faults.map(({ fix }) => fix).join("; ");
    return faults.every(isAccepted) ? note(details, fixes) : bad(details, fixes);
  });
}

interface Fault {
  readonly code?: ErrorCode;
  readonly detail: string;
  readonly fix: string;
}

function appendfsyncFault(appendfsync: string | undefined): Fault[] {
  if (appendfsync !== "no") return [];
  return [
    {
      detail: "appendfsync is no, so a power loss may take half a minute of acknowledged events",
      fix: "redis-cli CONFIG SET appendfsync everysec (and in redis.conf)",
    },
  ];
}

function replicaFault(online: number, wanted: number): Fault[] {
  if (online >= wanted) return [];
  return [
    {
      detail: `queue.replicas is ${wanted} and no replica is online, so the ledger takes the events`,
      fix: "Start a replica: its log says why it is behind",
    },
  ];
}

function asMisfit(error: unknown): string {
  if (isMillraceError(error) && error.code === "redis_topology") return error.message;
  throw error;
}

/** The fault of a Redis that no role can use, because the key of jobs is missing. */
export function keyFault({
  redisUrl,
  queueKey,
}: {
  redisUrl: string;
  queueKey?: string | undefined;
}): Fault | undefined {
  try {
    queueKeys({ REDIS_URL: redisUrl, MILLRACE_QUEUE_KEY: queueKey });
    return undefined;
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const fix = "Set MILLRACE_QUEUE_KEY, the same for every role";
    return { code: error.code, detail: error.message, fix };
  }
}

/** Checks that the tables of a queue on Postgres exist. */
export function checkPostgresQueue(pool: Pool): Promise<Check> {
  return check("queue", async () => {
    const { rows } = await pool.query<{ known: boolean }>(
      "SELECT to_regclass('bullmq.migration') IS NOT NULL AS known",
    );
    return rows[0]?.known === true
      ? ok("on Postgres")
      : bad("on Postgres, and its tables are missing", "Run `millrace migrate`");
  });
}

/** Checks that the disk of Redis keeps up, for more than the second between two fsyncs. */
export function checkDisk(redisUrl: string): Promise<Check> {
  return check("queue's disk", async () => {
    if (!(await isDiskSlow(redisUrl))) return ok("no fsync was slow");
    return bad(
      "Redis waits for its disk, and holds what it confirms in memory alone meanwhile",
      'Put the append-only file on a faster disk, or a disk of its own. `ack: "ledger"` or appendfsync always loses nothing',
    );
  });
}

/** Checks that the ledger was last compared with these queues. */
export function checkEpochs(ledger: Ledger, queues: Queues): Promise<Check> {
  return check("epochs", async () => {
    const sources = [...queues.queues.keys()];
    const changed = await changedQueues({ ledger, queues }, sources);
    const { changes, lately } = await findLedgerChanges({ ledger, queues }, sources);
    const lost = [...changes].filter(([, { kind }]) => kind !== "restarted");
    const fix = "A worker compares them within a minute: see that one runs";
    const shared =
      ". If this repeats, a Millrace of another database uses this Redis: " +
      "give each its own database number";
    const toDo = queues.backend === "redis" ? `${fix}${shared}` : fix;
    if (lost.length > 0) {
      const found = lost.map(inWords).join("; ");
      return bad(`Postgres was failed over or restored and not compared since: ${found}`, toDo);
    }
    if (changed.size === 0) {
      return lately.size > 0
        ? note(`Postgres was failed over or restored: ${[...lately].map(inWords).join("; ")}`)
        : ok("the queues are those that were compared last");
    }
    const found = [...changed.keys()].toSorted().join(", ");
    return bad(`new, restarted, flushed or restored and not compared since: ${found}`, toDo);
  });
}

/** The change of Postgres under a source's queue, and the number of lost events. */
function inWords([source, change]: readonly [string, KeptChange]): string {
  const { kind, atMs, unnamed, fromMs, tillMs } = change;
  const found = `${source} (${kind}, found ${new Date(atMs).toISOString()})`;
  if (unnamed === 0) return found;
  const [from, till] = [fromMs, tillMs].map((ms) => new Date(ms).toISOString());
  return `${found}: about ${unnamed} events that completed from ${from} to ${till} are lost, and their jobs are gone: have them sent again`;
}

/** Checks that a worker reconciles. */
export function checkReconciler(pool: Pool): Promise<Check> {
  return check("reconciler", async () => {
    const leader = await findLeader(pool, RECONCILER);
    if (leader === undefined)
      return bad("no worker reconciles", "Start a worker: `millrace worker`");
    const { host, seenMsAgo } = leader;
    return ok(`a worker on ${host} leads, last seen ${Math.round(seenMsAgo / 1_000)} s ago`);
  });
}
