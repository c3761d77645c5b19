import { afterEach, beforeEach, expect, test } from "vitest";
import { metricByLabels } from "../support/metrics.ts";
import { openForAll } from "../support/open-for.ts";
import { untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { startSenders } from "./senders.ts";
import { createTwoStorePipeline, deliver, untilReady } from "./two-stores.ts";

const ANSWERED_WITHIN_MS = 8_000;
const LONG = { withinMs: 90_000 };

let pipeline: Pipeline;
let prefix: string;
let tests = 0;

describeOnRedis("an ingress with both event stores", () => {
  const redis = openForAll(() => startRedis());
  const postgres = openForAll(startPostgres);
  beforeEach(async () => {
    prefix = `evt${tests++}`;
    pipeline = await createTwoStorePipeline({ databaseUrl: postgres.url, redisUrl: redis.url });
  });
  afterEach(async () => {
    redis.thaw();
    postgres.thaw();
    await pipeline?.stop();
  });

  const onRedis = { source: "fast", first: "queue", other: "ledger" } as const;
  const onPostgres = { source: "safe", first: "ledger", other: "queue" } as const;
  const dies = (server: TestRedis | TestPostgres) => ({
    strike: () => server.kill(),
    heal: () => server.restart(),
  });
  const hangs = (server: TestRedis | TestPostgres) => ({
    strike: async () => server.freeze(),
    heal: async () => server.thaw(),
  });
  const outages = [
    { what: "Redis dies", ...onRedis, ...dies(redis) },
    { what: "Redis hangs", ...onRedis, ...hangs(redis) },
    { what: "Postgres dies", ...onPostgres, ...dies(postgres) },
    { what: "Postgres hangs", ...onPostgres, ...hangs(postgres) },
  ];

  test.each(outages)(
    "on the $other takes every event while $what under load, and all complete once",
    async ({ source, first, other, strike, heal }) => {
      const ingress = await pipeline.startInProcess("ingress");
      await pipeline.startInProcess("worker");
      expect(await untilReady(ingress, "ready")).toMatchObject({ httpStatus: 200 });
      const senders = startSenders((id) => deliver(ingress, source, { id }), { prefix });
      await senders.moreAcknowledged(100);
      await strike();
      await senders.moreAcknowledged(200);
      const dark = await untilReady(ingress, "degraded");
      expect(dark).toMatchObject({ httpStatus: 200, stores: { [other]: 5 } });
      expect(dark.parts[other]).toBe("ok");
      expect(dark.parts[first]).not.toBe("ok");
      const active = await metricByLabels(ingress.url, "millrace_ingress_active_store");
      expect(active.get(`source="${source}",store="${other}"`)).toBe(1);
      expect(active.get(`source="${source}",store="${first}"`)).toBe(0);
      await heal();
      await untilReady(ingress, "ready");
      await senders.moreAcknowledged(100);
      await senders.stop();

      // A busy machine may keep the one store that is left from answering in its 800 ms: a 503, after
      // which a sender sends the delivery again.
      const answers = new Set(senders.all.map(({ answer }) => answer));
      expect([...answers].filter((answer) => answer !== 503)).toEqual([202]);
      expect(senders.slowestMs()).toBeLessThan(ANSWERED_WITHIN_MS);
      const sent = senders.all.map(({ id }) => id);
      for (const { id } of senders.all.filter(({ answer }) => answer === 503)) {
        await until(async () => (await deliver(ingress, source, { id })).status < 300);
      }
      expect(await untilCompletedOnce(pipeline.database, sent, LONG)).toEqual([]);
    },
  );
});
