import { Redis } from "ioredis";
import { deleteJobs } from "../../support/lose-queue.ts";
import { withRedis } from "../check/queue-dump.ts";
import type { Stage } from "../stage/stage.ts";
import { withQueue } from "../stage/with-queue.ts";
import type { Fault, Scene } from "./fault.ts";

/** Lua that collects, into `alone`, the jobs with a body: that of an event that nothing else may have. */
const COLLECT = `
local alone = {}
local cursor = "0"
repeat
  local page = redis.call("SCAN", cursor, "TYPE", "hash", "COUNT", 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local data = redis.call("HGET", key, "data")
    if data and string.find(data, '"body":', 1, true) then table.insert(alone, data) end
  end
until cursor == "0"
`;
// In one step, so that what is destroyed is exactly what was counted.
const FLUSH = `${COLLECT} redis.call("FLUSHALL") return alone`;

/** F10: the queue is emptied under the pipeline. What only the queue had is lost, and is counted. */
export const emptyQueue: Fault = {
  id: "F10",
  title: "the queue emptied: FLUSHALL or obliterate, clean",
  // A place that is down leaves events in the other one alone, and then this is no single fault.
  uses: ["redis", "postgres"],
  ways: {
    obliterate: async (scene) => {
      await (scene.stage.backend === "redis" ? flush(scene) : obliterate(scene));
    },
    // Where the bodies are in the queue alone, nobody could say afterwards which ones were there.
    clean: async (scene) => {
      const { backend, ack } = scene.stage;
      await (backend === "redis" && ack === "queue" ? flush(scene) : clean(scene));
    },
  },
};

async function flush({ stage }: Scene): Promise<void> {
  const url = stage.ground.redis?.server.url ?? "";
  const alone = (await withRedis(url, (client) => client.eval(FLUSH, 0))) as string[];
  for (const data of alone) excuse(stage, JSON.parse(data));
  stage.strike("F10", `FLUSHALL; ${alone.length} bodies were in the queue`);
}

/** Ends a Redis that keeps nothing, and excuses what it alone had in that moment. */
export async function loseRedis(stage: Stage): Promise<void> {
  const client = new Redis(stage.ground.redis?.server.url ?? "", { retryStrategy: () => null });
  client.on("error", () => {});
  // Commands that came together are done with nobody's between them.
  const both = client.pipeline().eval(`${COLLECT} return alone`, 0).shutdown("NOSAVE");
  const alone = ((await both.exec())?.[0]?.[1] ?? []) as string[];
  for (const data of alone) excuse(stage, JSON.parse(data));
  stage.strike("F7", `Redis ended; ${alone.length} bodies were in the queue`);
}

async function obliterate({ stage }: Scene): Promise<void> {
  const deleted = await deleteJobs(stage.database);
  stage.strike("F10", `${deleted} jobs deleted, and all that is known of the queues`);
}

async function clean({ stage }: Scene): Promise<void> {
  let removed = 0;
  for (const source of ["steady", "frail", "hub"]) {
    await withQueue(stage, source, async (queue) => {
      // What came while Postgres was away may still be here alone.
      for (const job of await queue.getJobs(["waiting", "delayed"])) {
        if (job?.data.body !== undefined) excuse(stage, job.data);
      }
      for (const state of ["wait", "delayed"] as const) {
        removed += (await queue.clean(0, 100_000, state)).length;
      }
    });
  }
  stage.strike("F10", `${removed} waiting and delayed jobs removed`);
}

function excuse(stage: Stage, { source, id }: { source: string; id: string }): void {
  stage.excused.add(`${source}/${id}`);
}
