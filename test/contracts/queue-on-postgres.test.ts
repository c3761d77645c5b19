import { openPool } from "@millrace/ledger";
import { createPostgresQueues } from "@millrace/queue";
import pg from "pg";
import { describe } from "vitest";
import { scratchDatabase } from "../support/scratch-database.ts";
import { enqueueTimeoutMs, queueContract } from "./queue.contract.ts";
import type { QueueServer } from "./queue-fixture.ts";

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

describe("the queues on Postgres", () => queueContract(onPostgres));

async function onPostgres(): Promise<QueueServer> {
  const database = await scratchDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return {
    url: database.url,
    open: (sources, notify) =>
      createPostgresQueues({
        openPool: (settings) => openPool(database.url, settings),
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
