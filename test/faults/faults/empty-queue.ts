import type { Redis } from "ioredis";
import { deleteJobs } from "../../support/lose-queue.ts";
import { withRedis } from "../../support/redis-client.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import { keyOf } from "../load/client-log.ts";
import type { Fault, FaultContext } from "./fault.ts";

const COLLECT = `
local jobs = {}
local cursor = "0"
repeat
  local page = redis.call("SCAN", cursor, "TYPE", "hash", "COUNT", 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local data = redis.call("HGET", key, "data")
    if data then table.insert(jobs, data) end
  end
until cursor == "0"
`;
// In one step, so that what is destroyed is exactly what was counted.
const FLUSH = `${COLLECT} redis.call("FLUSHALL") return jobs`;

/** F10: the queue is emptied under the pipeline. */
export const emptyQueue: Fault = {
  id: "F10",
  title: "the queue emptied: FLUSHALL or obliterate",
  uses: ["redis", "postgres"],
  ways: {
    obliterate: async (context) => {
      await (context.environment.backend === "redis" ? flush(context) : obliterate(context));
    },
  },
};

async function flush({ environment }: FaultContext): Promise<void> {
  environment.strike("F10", `FLUSHALL; ${await flushRedis(environment)} bodies were in the queue`);
}

/** Empties Redis. Returns how many events were there alone. */
export async function flushRedis(environment: FaultEnvironment): Promise<number> {
  const url = String(environment.urls.redisUrl);
  const jobs = (await withRedis(url, (client) => client.eval(FLUSH, 0))) as string[];
  return noteEmptied(
    environment,
    jobs.map((json): unknown => JSON.parse(json)),
  );
}

export async function loseRedis(environment: FaultEnvironment): Promise<number> {
  const jobs = await withRedis(String(environment.urls.redisUrl), async (client) => {
    await client.call("CLIENT", "PAUSE", "60000", "WRITE");
    return await collectJobs(client);
  });
  await environment.servers.redis?.server.kill();
  const alone = noteEmptied(environment, jobs);
  environment.strike("F7", `Redis ended; ${alone} bodies of ${jobs.length} jobs were in the queue`);
  return jobs.length;
}

async function collectJobs(client: Redis): Promise<readonly unknown[]> {
  const jobs = (await client.call("EVAL_RO", `${COLLECT} return jobs`, "0")) as string[];
  return jobs.map((json): unknown => JSON.parse(json));
}

export async function readJobs({
  urls,
  database,
}: Pick<FaultEnvironment, "urls" | "database">): Promise<Map<string, JobData>> {
  if (urls.redisUrl !== undefined) return await withRedis(urls.redisUrl, readRedisJobs);
  const { rows } = await database.query<{ data: unknown }>("select data from bullmq.job");
  return byKey(rows.map(({ data }) => data));
}

export async function readRedisJobs(client: Redis): Promise<Map<string, JobData>> {
  return byKey(await collectJobs(client));
}

function byKey(jobs: readonly unknown[]): Map<string, JobData> {
  return new Map(jobs.filter(isOurs).map((job) => [keyOf(job), job]));
}

async function obliterate({ environment }: FaultContext): Promise<void> {
  const jobs = await deleteJobs(environment.database);
  noteEmptied(environment, jobs);
  environment.strike("F10", `${jobs.length} jobs deleted, and all that is known of the queues`);
}

function noteEmptied(environment: FaultEnvironment, jobs: readonly unknown[]): number {
  const ours = jobs.filter(isOurs);
  const alone = ours.filter(({ body }) => body !== undefined);
  for (const job of ours) environment.emptied.add(keyOf(job));
  for (const job of alone) environment.excused.add(keyOf(job));
  return alone.length;
}

interface JobData {
  readonly source: string;
  readonly id: string;
  readonly body?: unknown;
}

function isOurs(data: unknown): data is JobData {
  return typeof data === "object" && data !== null && "source" in data && "id" in data;
}
