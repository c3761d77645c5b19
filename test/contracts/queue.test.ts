import { createPostgresQueues, createRedisQueues } from "@millrace/queue";
import { Redis } from "ioredis";
import pg from "pg";
import { describe } from "vitest";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { queueComparing } from "./queue-comparing.contract.ts";
import { queueDying } from "./queue-dying.contract.ts";
import { queueEnqueuing } from "./queue-enqueuing.contract.ts";
import { queuePressure } from "./queue-pressure.contract.ts";
import { queueRunning } from "./queue-running.contract.ts";
import { queueSettling } from "./queue-settling.contract.ts";
import { useQueueFixture, type QueueServer } from "./queue-fixture.ts";

const enqueueTimeoutMs = 20_000;

const CLEAR = `
DO $$
DECLARE name text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'bullmq' AND tablename <> 'migration'
  LOOP
    EXECUTE format('DELETE FROM bullmq.%I', name);
  END LOOP;
END $$`;

describeOnRedis("the queues on Redis", () => queueContract(onRedis));
describe("the queues on Postgres", () => queueContract(onPostgres));

function queueContract(prepare: () => Promise<QueueServer>): void {
  const fixture = useQueueFixture(prepare);
  queueRunning(fixture);
  queueEnqueuing(fixture);
  queueSettling(fixture);
  queueDying(fixture);
  queuePressure(fixture);
  queueComparing(fixture);
}

async function onRedis(): Promise<QueueServer> {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  return {
    url: redis.url,
    open: async (sources, notify) =>
      createRedisQueues({ url: redis.url, sources, role: "worker", notify, enqueueTimeoutMs }),
    stealLock: async (queue, jobId) => {
      await client.del(`bull:${queue}:${jobId}:lock`);
    },
    connections: async () =>
      String(await client.client("LIST"))
        .trim()
        .split("\n").length - 1,
    clear: async () => void (await client.flushall()),
    release: async () => {
      client.disconnect();
      await redis.stop();
    },
  };
}

async function onPostgres(): Promise<QueueServer> {
  const database = await scratchDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return {
    url: database.url,
    open: (sources, notify) =>
      createPostgresQueues({
        url: database.url,
        sources,
        role: "worker",
        notify,
        enqueueTimeoutMs,
      }),
    stealLock: async (queue, jobId) => {
      await client.query(
        "UPDATE bullmq.job SET lock_token = 'a thief', locked_until_ms = 0 WHERE queue = $1 AND id = $2",
        [queue, jobId],
      );
    },
    connections: async () => {
      const { rows } = await client.query<{ count: number }>(
        "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
      );
      return rows[0]?.count ?? 0;
    },
    clear: async () => void (await client.query(CLEAR)),
    release: async () => {
      await client.end();
      await database.drop();
    },
  };
}
