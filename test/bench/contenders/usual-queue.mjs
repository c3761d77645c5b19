import { createPostgresBackend } from "bullmq";

/**
 * What a queue or worker of the usual code is opened with, behind its own options: Redis, or BullMQ's Postgres
 * backend where there is no Redis.
 */
export function usualBackend({ REDIS_URL, DATABASE_URL } = process.env) {
  if (REDIS_URL === undefined) {
    return {
      connection: { connectionString: DATABASE_URL, migrate: true },
      factory: createPostgresBackend,
    };
  }
  const { hostname, port } = new URL(REDIS_URL);
  return { connection: { host: hostname, port: Number(port) }, factory: undefined };
}
