import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect } from "vitest";
import config from "../../fixtures/deadlines/millrace.config.ts";
import { onRedis, type TestServers } from "../../support/backends.ts";
import type { MillraceProcess } from "../../support/millrace-process.ts";
import {
  createPipeline,
  postOnce,
  untilCompletedOnce,
  type Pipeline,
} from "../../support/pipeline.ts";
import { withRedis } from "../../support/redis-client.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const CONFIG = fileURLToPath(
  new URL("../../fixtures/deadlines/millrace.config.ts", import.meta.url),
);

export type Source = "acme" | "patient";

/** A delivery's answer, and how long it took. */
export interface Timed {
  readonly status: number;
  readonly tookMs: number;
}

/** A pipeline whose servers hang when a test wants it, for one test. */
export class HangingServers {
  readonly servers: TestServers;
  readonly toRedis: TcpProxy;
  readonly toPostgres: TcpProxy;
  readonly pipeline: Pipeline;
  readonly acknowledged = new Set<string>();

  private constructor(
    servers: TestServers,
    toRedis: TcpProxy,
    toPostgres: TcpProxy,
    pipeline: Pipeline,
  ) {
    this.servers = servers;
    this.toRedis = toRedis;
    this.toPostgres = toPostgres;
    this.pipeline = pipeline;
  }

  static async open(): Promise<HangingServers> {
    const servers = await onRedis();
    const toRedis = await startTcpProxy(String(servers.redisUrl));
    const toPostgres = await startTcpProxy(servers.databaseUrl);
    const pipeline = await createPipeline(servers, { MILLRACE_CONFIG: CONFIG }, config);
    return new HangingServers(servers, toRedis, toPostgres, pipeline);
  }

  async close(): Promise<void> {
    this.servers.redis?.thaw();
    await this.pipeline.stop();
    await Promise.all([this.toRedis.close(), this.toPostgres.close()]);
    await this.servers.release();
  }

  /** An ingress whose ways to both servers may hang. */
  startIngress(over: Readonly<Record<string, string>> = {}): Promise<MillraceProcess> {
    const urls = { REDIS_URL: this.toRedis.url, DATABASE_URL: this.toPostgres.url };
    return this.pipeline.start("ingress", { ...urls, ...over });
  }

  /** A worker whose way to Postgres may hang. */
  startWorker(over: Readonly<Record<string, string>> = {}): Promise<MillraceProcess> {
    return this.pipeline.start("worker", { DATABASE_URL: this.toPostgres.url, ...over });
  }

  async deliver(
    ingress: MillraceProcess,
    source: Source,
    id: string,
    type = "test.effect",
  ): Promise<Timed> {
    const beganMs = performance.now();
    const { status } = await postOnce(ingress.url, { id, type, source });
    if (status < 300) this.acknowledged.add(id);
    return { status, tookMs: performance.now() - beganMs };
  }

  /** Delivers an event of `acme` until it is taken; gives its id. */
  async take(ingress: MillraceProcess, id: string, type: string): Promise<string> {
    await until(async () => (await this.deliver(ingress, "acme", id, type)).status < 300);
    return id;
  }

  /** Jobs that a worker has taken and not finished. */
  activeJobs(): Promise<number> {
    return withRedis(String(this.servers.redisUrl), async (client) => {
      const keys = ["acme", "patient"].map((source) => `bull:millrace-${source}:active`);
      const counts = await Promise.all(keys.map((key) => client.llen(key)));
      return counts.reduce((sum, count) => sum + count, 0);
    });
  }
}

/** Waits until all that was acknowledged is completed, and expects one effect of each. */
export async function expectCompletedOnce(hanging: HangingServers): Promise<void> {
  const ids = [...hanging.acknowledged];
  const wrong = await untilCompletedOnce(hanging.pipeline.database, ids, { withinMs: 40_000 });
  expect(wrong).toEqual([]);
  // An attempt that nobody ends would keep its job, and a slot of its worker, for as long as it lives.
  await until(async () => (await hanging.activeJobs()) === 0, {
    withinMs: 30_000,
    what: "no job active in the queue",
  });
}

/** Opens a pipeline before each test of the file, and closes it after; gives the one of the test that runs. */
export function useHangingServers(): () => HangingServers {
  let opened: HangingServers | undefined;
  beforeEach(async () => {
    opened = await HangingServers.open();
  });
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
  });
  return () => {
    if (opened === undefined) throw new Error("Cannot use the servers outside a test");
    return opened;
  };
}
