import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import config from "../../fixtures/deadlines/millrace.config.ts";
import { onRedis } from "../../support/backends.ts";
import type { MillraceProcess } from "../../support/millrace-process.ts";
import { createPipeline, postOnce, untilCompletedOnce } from "../../support/pipeline.ts";
import { withRedis } from "../../support/redis-client.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const CONFIG = fileURLToPath(
  new URL("../../fixtures/deadlines/millrace.config.ts", import.meta.url),
);

export type Source = "acme" | "patient";

export interface Timed {
  readonly status: number;
  readonly tookMs: number;
}

export async function openHangingServers() {
  const servers = await onRedis();
  const toRedis = await startTcpProxy(String(servers.redisUrl));
  const toPostgres = await startTcpProxy(servers.databaseUrl);
  const pipeline = await createPipeline(servers, { MILLRACE_CONFIG: CONFIG }, config);
  const acknowledged = new Set<string>();

  const deliver = async (
    ingress: MillraceProcess,
    source: Source,
    id: string,
    type = "test.effect",
  ): Promise<Timed> => {
    const beganMs = performance.now();
    const { status } = await postOnce(ingress.url, { id, type, source });
    if (status < 300) acknowledged.add(id);
    return { status, tookMs: performance.now() - beganMs };
  };

  const activeJobs = () =>
    withRedis(String(servers.redisUrl), async (client) => {
      const keys = ["acme", "patient"].map((source) => `bull:millrace-${source}:active`);
      const counts = await Promise.all(keys.map((key) => client.llen(key)));
      return counts.reduce((sum, count) => sum + count, 0);
    });

  return {
    ...{ servers, toRedis, toPostgres, pipeline, deliver },
    startIngress: (over: Readonly<Record<string, string>> = {}) => {
      const urls = { REDIS_URL: toRedis.url, DATABASE_URL: toPostgres.url };
      return pipeline.start("ingress", { ...urls, ...over });
    },
    startWorker: (over: Readonly<Record<string, string>> = {}) =>
      pipeline.start("worker", { DATABASE_URL: toPostgres.url, ...over }),
    take: async (ingress: MillraceProcess, id: string, type: string): Promise<string> => {
      await until(async () => (await deliver(ingress, "acme", id, type)).status < 300);
      return id;
    },
    expectCompletedOnce: async (): Promise<void> => {
      const ids = [...acknowledged];
      const wrong = await untilCompletedOnce(pipeline.database, ids, { withinMs: 40_000 });
      expect(wrong).toEqual([]);
      // An attempt that does not end keeps its job, and a slot of its worker.
      await until(async () => (await activeJobs()) === 0, {
        withinMs: 30_000,
        what: "no job active in the queue",
      });
    },
    close: async (): Promise<void> => {
      servers.redis?.thaw();
      await pipeline.stop();
      await Promise.all([toRedis.close(), toPostgres.close()]);
      await servers.release();
    },
  };
}
