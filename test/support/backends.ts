import { describe } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "./redis.ts";
import { scratchDatabase } from "./scratch-database.ts";

/** What one suite's pipeline stands on. */
export interface Ground {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  /** The suite's own Redis, to kill; undefined on the Postgres backend. */
  readonly redis: TestRedis | undefined;
  release(): Promise<void>;
}

export type BackendName = "redis" | "postgres";

/** Runs a suite once on each queue backend, each time on a fresh database (and a fresh Redis). */
export function onEachBackend(
  title: string,
  suite: (prepare: () => Promise<Ground>, backend: BackendName) => void,
): void {
  describeOnRedis(`${title}, on Redis`, () => suite(onRedis, "redis"));
  describe(`${title}, on Postgres alone`, () => suite(onPostgres, "postgres"));
}

/** A fresh database and a fresh Redis. */
export async function onRedis(): Promise<Ground> {
  const [database, redis] = await Promise.all([scratchDatabase(), startRedis()]);
  return {
    databaseUrl: database.url,
    redisUrl: redis.url,
    redis,
    release: async () => {
      await Promise.all([database.drop(), redis.stop()]);
    },
  };
}

export async function onPostgres(): Promise<Ground> {
  const database = await scratchDatabase();
  return {
    databaseUrl: database.url,
    redisUrl: undefined,
    redis: undefined,
    release: () => database.drop(),
  };
}
