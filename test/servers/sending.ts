import { expect } from "vitest";
import { runCommand, type MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline, post, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

export const named = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `msg_${name}_${index}`);

export function sendAll(
  { url }: Pick<MillraceProcess, "url">,
  ids: readonly string[],
  over: Partial<Parameters<typeof post>[1]> = {},
) {
  return Promise.all(ids.map((id) => post(url, { id, type: "test.effect", ...over })));
}

export function doctorAgrees({ env }: Pipeline): Promise<string> {
  return until(async () => {
    const { output } = await runCommand(["doctor"], env);
    // Events that a failover failed are failing, and no disagreement.
    const agrees = /^Ledger and queues agree/m.test(output);
    return agrees && !/^BAD(?! +failing )/m.test(output) && output;
  });
}

/** Servers whose data a test may set back, and an ingress on them. */
export async function openRestorable() {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const urls = { databaseUrl: postgres.url, redisUrl: redis.url };
  const pipeline = await createPipeline(urls);
  const ingress = await pipeline.start("ingress");
  return {
    ...{ postgres, redis, urls, pipeline },
    send: (ids: readonly string[]) => sendAll(ingress, ids),
    completed: async (...ids: readonly string[]) =>
      expect(await untilCompletedOnce(pipeline.database, ids)).toEqual([]),
    close: async () => {
      await pipeline.stop();
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
}
