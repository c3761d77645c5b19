import { wait } from "@millrace/core";
import type { Redis } from "ioredis";
import type { ReplicaWait } from "./backend.ts";
import type { QueueRisk } from "./queues.ts";

interface Options {
  readonly replicas: number;
  readonly replicaTimeoutMs: number;
}

const LOOK_MS = 250;
/** An fsync that takes longer is slow; in less, a disk that is well may be caught at one. */
const FSYNC_MS_MAX = 100;
/** Milliseconds for which a disk that was slow counts as slow: it is well between two fsyncs. */
const SLOW_DISK_MS = 30_000;
const WATCHED_MS = 1_300;
/** Milliseconds until a replica that was late is asked again. */
const LATE_REPLICA_MS = 1_000;

/** Under `appendfsync everysec`, Redis confirms writes in memory while an fsync is in progress. */
export function createDurabilityWatch(client: Redis, options: Options) {
  const { replicas } = options;
  const closing = new AbortController();
  const disk = createDiskJudge();
  let slowUntilMs = 0;
  let lateUntilMs = 0;
  let online = replicas;
  let looking = false;
  let risk: QueueRisk | undefined;

  async function keepLooking(): Promise<void> {
    while (!closing.signal.aborted) {
      const pauseMs = await look().catch(() => LOOK_MS);
      judge();
      await wait(pauseMs, closing.signal);
    }
  }

  async function look(): Promise<number> {
    const [persistence, replication] = await Promise.all([
      client.info("persistence"),
      replicas > 0 ? client.info("replication") : "",
    ]);
    if (replicas > 0) online = onlineReplicas(parseInfo(replication));
    const verdict = disk(parseInfo(persistence));
    if (verdict === "slow") slowUntilMs = performance.now() + SLOW_DISK_MS;
    return verdict === "busy" ? FSYNC_MS_MAX : LOOK_MS;
  }

  function judge(): void {
    const nowMs = performance.now();
    if (nowMs < slowUntilMs) risk = "redis_disk_slow";
    else risk = online < replicas || nowMs < lateUntilMs ? "redis_no_replica" : undefined;
  }

  const onLate = () => {
    lateUntilMs = performance.now() + LATE_REPLICA_MS;
    judge();
  };

  return {
    risk: (): QueueRisk | undefined => {
      if (!looking) void keepLooking();
      looking = true;
      return risk;
    },
    waitForReplicas: replicas > 0 ? () => createReplicaWait(client, options, onLate) : undefined,
    close: () => closing.abort(),
  };
}

/** Follows one call of `enqueue`. `onLate` is called when no replica has its writes in time. */
function createReplicaWait(
  client: Redis,
  { replicas, replicaTimeoutMs }: Options,
  onLate: () => void,
): ReplicaWait {
  let isScheduled = false;
  let confirmed = Promise.resolve(true);

  function send(): void {
    isScheduled = false;
    // All of them must say so: a later one may have been sent to another server, after a failover.
    const before = confirmed;
    const now = client.wait(replicas, replicaTimeoutMs).then(
      (having) => having >= replicas,
      () => false,
    );
    confirmed = now.then(async (isThere) => (await before) && isThere);
  }

  return {
    // Behind everything that is sent in this turn, and before anything is answered.
    onSent: () => {
      if (!isScheduled) queueMicrotask(send);
      isScheduled = true;
    },
    confirmed: async () => {
      const isThere = await confirmed;
      if (!isThere) onLate();
      return isThere;
    },
  };
}

/** Redis begins an fsync each second. */
export async function watchDisk(client: Redis): Promise<boolean> {
  const judge = createDiskJudge();
  for (let waitedMs = 0; waitedMs < WATCHED_MS; waitedMs += FSYNC_MS_MAX) {
    if (judge(parseInfo(await client.info("persistence"))) === "slow") return true;
    await wait(FSYNC_MS_MAX);
  }
  return false;
}

export function parseInfo(text: string): Info {
  const pairs = text.split(/\r?\n/).map((line) => line.split(":", 2));
  return new Map(pairs.flatMap(([name, value]) => (name && value ? [[name, value]] : [])));
}

type Info = ReadonlyMap<string, string>;

/** `busy`: an fsync is in progress. Redis itself counts it as delayed only after two seconds. */
function createDiskJudge(): (info: Info) => "well" | "busy" | "slow" {
  let busySinceMs: number | undefined;
  let delayedBefore = Number.POSITIVE_INFINITY;
  return (info) => {
    const delayed = Number(info.get("aof_delayed_fsync") ?? 0);
    const wasDelayed = delayed > delayedBefore;
    delayedBefore = delayed;
    const isBusy =
      Number(info.get("aof_pending_bio_fsync") ?? 0) > 0 &&
      Number(info.get("aof_buffer_length") ?? 0) > 0;
    const nowMs = performance.now();
    // At most one fsync a second: what was busy a moment ago is busy with the same one.
    busySinceMs = isBusy ? (busySinceMs ?? nowMs) : undefined;
    if (wasDelayed) return "slow";
    if (busySinceMs === undefined) return "well";
    return nowMs - busySinceMs >= FSYNC_MS_MAX * 0.9 ? "slow" : "busy";
  };
}

export function onlineReplicas(info: Info): number {
  return [...info].filter(([name, facts]) => /^slave\d+$/.test(name) && facts.includes("online"))
    .length;
}
