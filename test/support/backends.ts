import { describe, inject } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "./redis.ts";
import { migratedDatabase } from "./scratch-database.ts";
import type { ServerUrls } from "./server-urls.ts";

export interface TestServers extends ServerUrls {
  readonly redis: TestRedis | undefined;
  release(): Promise<void>;
}

export type BackendName = "redis" | "postgres";

type Suite = (prepare: () => Promise<TestServers>, backend: BackendName) => void;

/**
 * Runs a suite once on each queue backend, each time on a fresh migrated database (and a fresh Redis).
 * It is for what the queue contract cannot prove.
 */
export function onEachBackend(title: string, suite: Suite): void {
  describeOnRedis(`${title}, on Redis`, () => suite(() => onRedis(), "redis"));
  describe(`${title}, on Postgres alone`, () => suite(onPostgres, "postgres"));
}

export function onOneBackend(title: string, suite: Suite): void {
  if (inject("hasRedis")) describeOnRedis(title, () => suite(() => onRedis(), "redis"));
  else describe(`${title}, on Postgres alone`, () => suite(onPostgres, "postgres"));
}

export async function openOn<T>(servers: TestServers, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await servers.release();
    throw error;
  }
}

export async function onRedis(createDatabase = migratedDatabase): Promise<TestServers> {
  const [database, redis] = await Promise.all([createDatabase(), startRedis()]);
  return {
    databaseUrl: database.url,
    redisUrl: redis.url,
    redis,
    release: async () => {
      await Promise.all([database.drop(), redis.stop()]);
    },
  };
}

export async function onPostgres(): Promise<TestServers> {
  const database = await migratedDatabase();
  return {
    databaseUrl: database.url,
    redis: undefined,
    release: () => database.drop(),
  };
}
