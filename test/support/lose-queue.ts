import pg from "pg";
import { withRedis } from "./redis-client.ts";

const DELETE_ALL = `
WITH jobs AS (DELETE FROM bullmq.job RETURNING data), meta AS (DELETE FROM bullmq.meta)
SELECT data FROM jobs`;

const DEADLOCK_DETECTED = "40P01";

export async function loseQueue(redisUrl: string | undefined, database: pg.Pool): Promise<void> {
  if (redisUrl === undefined) await deleteJobs(database);
  else await withRedis(redisUrl, (client) => client.flushall());
}

/** Deletes every job of the queues on Postgres under those that use them, and gives their data. */
export async function deleteJobs(database: pg.Pool): Promise<unknown[]> {
  for (;;) {
    try {
      const { rows } = await database.query<{ data: unknown }>(DELETE_ALL);
      return rows.map(({ data }) => data);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === DEADLOCK_DETECTED)) throw error;
    }
  }
}
