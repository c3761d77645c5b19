import { setTimeout } from "node:timers/promises";
import { findJobOwner, queueKeys, type Finding, type StoreUrls } from "@millrace/connect";
import {
  asError,
  hasCode,
  isMillraceError,
  isSameDatabase,
  type Config,
  type ErrorCode,
} from "@millrace/core";
import { findLeader, type KeptChange } from "@millrace/ledger";
import {
  behindText,
  changedQueues,
  failingText,
  findBehind,
  findFailingSources,
  findLedgerChanges,
  findSenders,
  RECONCILER,
  signingText,
  type SenderFinding,
} from "@millrace/operations";
import { isDiskSlow, readAppendfsync, readRedisFacts, redisFaults } from "@millrace/queue";
import type { OpenStores } from "../stores.ts";
import { ANSWERS, type StoresChecked } from "./check-postgres.ts";
import { printable } from "../terminal-text.ts";
import { bad, judged, note, ok, type Check, type Seen } from "./report.ts";

type RedisChecked = StoreUrls & { readonly config: Pick<Config, "queue"> };

/** The check of the queue, alone where no database is named. */
export const REDIS_CHECK: Check<RedisChecked> = { name: "queue", run: checkRedis };

export const QUEUE_CHECKS: readonly Check<StoresChecked>[] = [
  REDIS_CHECK,
  {
    name: "queue's disk",
    run: checkDisk,
    advice:
      'Put the append-only file on a faster disk, or a disk of its own. `ack: "ledger"` or appendfsync always loses nothing',
    needs: ["queue", "ok"],
  },
  {
    name: "queue",
    run: checkPostgresQueue,
    advice: "Run `millrace migrate`",
    needs: ANSWERS,
  },
  {
    name: "clocks",
    run: checkClocks,
    advice: "Set the clocks by NTP: signatures and retries go by them",
    needs: ANSWERS,
  },
];

type StoresOpened = OpenStores & Pick<StoresChecked, "pool" | "config">;

export function openChecks(on: StoresOpened): readonly Check<StoresOpened>[] {
  // Its statements read a week: once for all its checks.
  let senders: ReturnType<typeof findSenders> | undefined;
  const failing = () => findFailingSources({ ...on, sources: on.config.sources });
  return [
    { name: "ledger", run: checkIdentity },
    { name: "failing", run: async () => reportOf(failingText(await failing()), bad) },
    { name: "waiting", run: async () => reportOf(behindText(await findBehind(on.queues))) },
    ...(["signatures", "silent", "ids", "copies", "sizes"] as const).map((name) => ({
      name,
      run: async () => reportOf((await (senders ??= findSenders(on)))[name]),
    })),
    { name: "removed jobs", run: checkRemoved },
    { name: "epochs", run: checkEpochs },
    { name: "reconciler", run: checkReconciler, advice: "Start a worker: `millrace worker`" },
  ];
}

interface Fault extends Finding {
  readonly code?: ErrorCode;
}

async function checkRedis(on: RedisChecked): Promise<Seen | undefined> {
  const { REDIS_URL: redisUrl, MILLRACE_QUEUE_KEY: queueKey } = on;
  if (redisUrl === undefined) return undefined;
  const key = keyFault(on);
  if (key !== undefined) return bad(key.detail, key.fix);
  const facts = await readRedisFacts(redisUrl).catch((error: unknown) => {
    if (hasCode(error, "redis_topology")) return error.message;
    throw error;
  });
  if (typeof facts === "string") return bad(facts);
  const { version, maxmemoryPolicy, aof, replicas } = facts;
  const appendfsync = aof ? await readAppendfsync(redisUrl) : undefined;
  const persists = aof ? `AOF on (appendfsync ${appendfsync ?? "not visible"})` : "AOF off";
  const signs = queueKey === undefined ? "jobs not signed" : "jobs signed";
  const online = replicas === 0 ? "" : `, ${replicas} online`;
  const detail = `Redis ${version}, ${maxmemoryPolicy}, ${persists}${online}, ${signs}`;
  const wanted = on.config.queue.replicas;
  const faults: Fault[] = [
    ...redisFaults(facts),
    ...(appendfsync === "no" ? [NO_FSYNC] : []),
    ...(replicas < wanted ? [replicaFault(wanted)] : []),
  ];
  const isAccepted = ({ code }: Fault) =>
    code === "redis_volatile" && on.MILLRACE_REDIS_VOLATILE === "1";
  return judged(detail, faults, faults.every(isAccepted) ? note : bad);
}

/** The fault of a Redis that no role can use, because the key of jobs is missing. */
export function keyFault(stores: StoreUrls): Fault | undefined {
  try {
    queueKeys(stores);
    return undefined;
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { detail: error.message, fix: "Set MILLRACE_QUEUE_KEY, the same for every role" };
  }
}

const NO_FSYNC: Fault = {
  detail: "appendfsync is no, so a power loss may take half a minute of acknowledged events",
  fix: "redis-cli CONFIG SET appendfsync everysec (and in redis.conf)",
};

const replicaFault = (wanted: number): Fault => ({
  detail: `queue.replicas is ${wanted} and no replica is online, so the ledger takes the events`,
  fix: "Start a replica: its log says why it is behind",
});

/** The disk of Redis keeps up, for more than the second between two fsyncs. */
async function checkDisk({ REDIS_URL: redisUrl }: StoresChecked): Promise<Seen | undefined> {
  if (redisUrl === undefined) return undefined;
  if (!(await isDiskSlow(redisUrl))) return ok("no fsync was slow");
  return bad("Redis waits for its disk, and holds what it confirms in memory alone meanwhile");
}

async function checkPostgresQueue({ pool, REDIS_URL }: StoresChecked): Promise<Seen | undefined> {
  if (REDIS_URL !== undefined) return undefined;
  const { rows } = await pool.query<{ known: boolean }>(
    "SELECT to_regclass('bullmq.migration') IS NOT NULL AS known",
  );
  return rows[0]?.known === true
    ? ok("on Postgres")
    : bad("on Postgres, and its tables are missing");
}

/** Milliseconds that clocks may differ by; signatures and delays allow for much more. */
const SKEW_MS_MAX = 5_000;

async function checkClocks({ pool, REDIS_URL: redisUrl }: StoresChecked): Promise<Seen> {
  const postgresMs = async () => {
    const { rows } = await pool.query<{ ms: number }>(
      "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms",
    );
    return rows[0]?.ms;
  };
  const clocks = [{ name: "Postgres", skewMs: await skewOf(postgresMs) }];
  if (redisUrl !== undefined) {
    const skewMs = await skewOf(async () => (await readRedisFacts(redisUrl)).timeMs);
    clocks.push({ name: "Redis", skewMs });
  }
  const detail = clocks.map(({ name, skewMs }) => `${name} ${skewText(skewMs)}`).join(", ");
  const isRight = clocks.every(({ skewMs = 0 }) => Math.abs(skewMs) <= SKEW_MS_MAX);
  return isRight ? ok(detail) : bad(detail);
}

/** Milliseconds by which a clock is ahead of ours, at least: the request takes time too. */
async function skewOf(read: () => Promise<number | undefined>): Promise<number | undefined> {
  const fromMs = Date.now();
  const theirsMs = await read();
  const tillMs = Date.now();
  if (theirsMs === undefined) return undefined;
  if (theirsMs < fromMs) return theirsMs - fromMs;
  return Math.max(0, theirsMs - tillMs);
}

function skewText(ms: number | undefined): string {
  if (ms === undefined) return "does not report its time";
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return "has our time";
  return `is ${seconds} s ${ms > 0 ? "ahead" : "behind"}`;
}

/** The ledger is on the database that its workers ran on, and its queues are no other's. */
async function checkIdentity({ ledger, queues }: StoresOpened): Promise<Seen> {
  const identity = await ledger.repair.readIdentity();
  const { ranOn } = identity;
  if (ranOn !== undefined && !isSameDatabase(ranOn, identity)) {
    const fix = "Run `millrace restored` if it takes the other's place, or `millrace adopt`";
    return bad("this database was restored or copied: its workers ran on another one", fix);
  }
  if (queues.backend === "redis") {
    const error = await findJobOwner(queues, [...queues.queues.keys()], identity).catch(asError);
    if (error instanceof Error) return bad(error.message);
  }
  return ok(`${identity.ledger}, jobs: ${signingText(identity)}`);
}

const reportOf = ({ text, fix }: SenderFinding, problem = note) =>
  fix === undefined ? ok(text) : problem(printable(text), fix);

const LOOKS_MS = 1_000;
const LOOK_MS = 200;

/** Nobody has removed jobs with another tool. A job that ends is counted a moment later. */
async function checkRemoved({ queues }: StoresOpened): Promise<Seen | undefined> {
  if (queues.backend !== "redis") return undefined;
  const count = async () =>
    new Map([...(await queues.counts())].map(([source, { removed }]) => [source, removed]));
  const least = await count();
  const isAny = () => [...least.values()].some((removed) => removed > 0);
  const untilMs = performance.now() + LOOKS_MS;
  while (isAny() && performance.now() < untilMs) {
    await setTimeout(LOOK_MS);
    for (const [source, removed] of await count()) {
      least.set(source, Math.min(removed, least.get(source) ?? 0));
    }
  }
  const found = [...least].flatMap(([source, removed]) =>
    removed === 0 ? [] : [`${source} (about ${removed})`],
  );
  if (found.length === 0) return ok("none that Millrace did not remove");
  return note(
    `removed by another tool than Millrace: ${found.join(", ")}`,
    'With ack: "queue", events that no worker had recorded are lost: have them sent again',
  );
}

/** The ledger was last compared with these queues. */
async function checkEpochs({ ledger, queues }: StoresOpened): Promise<Seen> {
  const sources = [...queues.queues.keys()];
  const changed = await changedQueues({ ledger, queues }, sources);
  const { changes, lately } = await findLedgerChanges({ ledger, queues }, sources);
  const lost = [...changes].filter(([, { kind }]) => kind !== "restarted");
  const fix = "A worker compares them within a minute: see that one runs";
  if (lost.length > 0) {
    const found = lost.map(changeText).join("; ");
    return bad(`Postgres was failed over or restored and not compared since: ${found}`, fix);
  }
  if (changed.size > 0) {
    const found = [...changed.keys()].toSorted().join(", ");
    return bad(`new, restarted, flushed or restored and not compared since: ${found}`, fix);
  }
  return lately.size > 0
    ? note(`Postgres was failed over or restored: ${[...lately].map(changeText).join("; ")}`)
    : ok("the queues are those that were compared last");
}

function changeText([source, change]: readonly [string, KeptChange]): string {
  const { kind, atMs, unnamed, fromMs, tillMs } = change;
  const found = `${source} (${kind}, found ${new Date(atMs).toISOString()})`;
  if (unnamed === 0) return found;
  const [from, till] = [fromMs, tillMs].map((ms) => new Date(ms).toISOString());
  return `${found}: about ${unnamed} events that completed from ${from} to ${till} are lost, and their jobs are gone: have them sent again`;
}

async function checkReconciler({ pool }: StoresOpened): Promise<Seen> {
  const leader = await findLeader(pool, RECONCILER);
  if (leader === undefined) return bad("no worker reconciles");
  const { host, seenMsAgo } = leader;
  return ok(`a worker on ${host} leads, last seen ${Math.round(seenMsAgo / 1_000)} s ago`);
}
