import { Redis } from "ioredis";
import { deleteJobs } from "../../support/lose-queue.ts";
import { withQueue } from "../../support/queue-fixture.ts";
import { withRedis } from "../../support/redis-client.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Fault, FaultContext } from "./fault.ts";

/** Lua that collects the data of all jobs into `jobs`. */
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

/**
 * F10: the queue is emptied under the pipeline. What only the queue had is lost, and is counted. Jobs that
 * are removed without a trace are found by a sweep alone, which no drain waits for; see `removeJobs`.
 */
export const emptyQueue: Fault = {
  id: "F10",
  title: "the queue emptied: FLUSHALL or obliterate",
  // While one store is down only the other one has its events: then this is no single fault.
  uses: ["redis", "postgres"],
  ways: {
    obliterate: async (context) => {
      await (context.environment.backend === "redis" ? flush(context) : obliterate(context));
    },
  },
};

async function flush({ environment }: FaultContext): Promise<void> {
  const url = String(environment.urls.redisUrl);
  const jobs = (await withRedis(url, (client) => client.eval(FLUSH, 0))) as string[];
  const alone = noteEmptied(environment, jobs.map(parse));
  environment.strike("F10", `FLUSHALL; ${alone} bodies were in the queue`);
}

/** Ends a Redis that keeps nothing, and excuses what it alone had in that moment. */
export async function loseRedis(environment: FaultEnvironment): Promise<void> {
  const client = new Redis(String(environment.urls.redisUrl), { retryStrategy: () => null });
  client.on("error", () => {});
  // Commands that came together are done with nobody's between them.
  const both = client.pipeline().eval(`${COLLECT} return jobs`, 0).shutdown("NOSAVE");
  const jobs = ((await both.exec())?.[0]?.[1] ?? []) as string[];
  const alone = noteEmptied(environment, jobs.map(parse));
  environment.strike("F7", `Redis ended; ${alone} bodies were in the queue`);
}

async function obliterate({ environment }: FaultContext): Promise<void> {
  const jobs = await deleteJobs(environment.database);
  noteEmptied(environment, jobs);
  environment.strike("F10", `${jobs.length} jobs deleted, and all that is known of the queues`);
}

/** Removes every job that waits or is delayed, as a person does who cleans a queue; gives how many. */
export async function removeJobs({ environment }: FaultContext): Promise<number> {
  let removed = 0;
  for (const source of ["steady", "frail", "hub"]) {
    await withQueue(environment.urls, source, async (queue) => {
      for (const job of await queue.getJobs(["waiting", "delayed"])) {
        // A worker may have taken it since.
        if (job?.id === undefined || (await queue.remove(job.id)) === 0) continue;
        removed += 1;
        noteEmptied(environment, [job.data]);
      }
    });
  }
  environment.strike("F10", `${removed} waiting and delayed jobs removed`);
  return removed;
}

/**
 * Notes the events whose jobs are gone. What only the queue had, which is a body, may be lost: gives how many
 * there were.
 */
function noteEmptied(environment: FaultEnvironment, jobs: readonly unknown[]): number {
  const ours = jobs.filter(isOurs);
  const alone = ours.filter(({ body }) => body !== undefined);
  for (const { source, id } of ours) environment.emptied.add(`${source}/${id}`);
  for (const { source, id } of alone) environment.excused.add(`${source}/${id}`);
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

function parse(json: string): unknown {
  return JSON.parse(json);
}
