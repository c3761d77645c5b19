import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeOnRedis } from "../support/redis.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import {
  deliver,
  metric,
  readiness,
  startSenders,
  startServersToKill,
  untilCompletedOnce,
  untilReady,
  type Ack,
  type ServersToKill,
  type Stage,
} from "./two-places-stage.ts";

/** The ingress answers within 2 s; the machine that runs all of this may be busy. A hang is longer. */
const ANSWERED_WITHIN_MS = 8_000;

let servers: ServersToKill;
let stage: Stage<TestPostgres>;
/** Begins the id of each of a test's events: those of the tests before it are still there. */
let prefix: string;
let tests = 0;
const slowest = (acks: readonly Ack[]) => Math.max(...acks.map(({ tookMs }) => tookMs));
const statuses = (acks: readonly Ack[]) => [...new Set(acks.map(({ status }) => status))];

describeOnRedis("an ingress with both places", () => {
  beforeAll(async () => {
    servers = await startServersToKill();
  });
  afterAll(() => servers?.stop());
  beforeEach(async () => {
    prefix = `evt${tests++}`;
    stage = await servers.open();
  });
  afterEach(() => stage?.close());

  const redis = { source: "fast", first: "queue", other: "ledger" } as const;
  const postgres = { source: "safe", first: "ledger", other: "queue" } as const;
  const troubles = [
    {
      ...{ what: "Redis dies", ...redis },
      strike: () => stage.redis.kill(),
      heal: () => stage.redis.restart(),
    },
    {
      ...{ what: "Redis hangs", ...redis },
      strike: async () => stage.redis.freeze(),
      heal: async () => stage.redis.thaw(),
    },
    {
      ...{ what: "Postgres dies", ...postgres },
      strike: () => stage.postgres.kill(),
      heal: () => stage.postgres.restart(),
    },
    {
      ...{ what: "Postgres hangs", ...postgres },
      strike: async () => stage.postgres.freeze(),
      heal: async () => stage.postgres.thaw(),
    },
  ];

  test.each(troubles)(
    "on the $other takes every event while $what under load, and all complete once",
    async ({ source, first, other, strike, heal }) => {
      const ingress = await stage.pipeline.startInProcess("ingress");
      await stage.pipeline.startInProcess("worker");
      expect(await untilReady(ingress, "ready")).toMatchObject({ httpStatus: 200 });
      const senders = startSenders(ingress, source, prefix);
      await senders.more(100);
      await strike();
      await senders.more(200);
      const dark = await untilReady(ingress, "degraded");
      expect(dark).toMatchObject({ httpStatus: 200, places: { fast: other, safe: other } });
      expect(dark.parts[other]).toBe("ok");
      expect(dark.parts[first]).not.toBe("ok");
      const inForce = await metric(ingress, "millrace_ingress_active_store");
      expect(inForce.get(`source="${source}",store="${other}"`)).toBe(1);
      expect(inForce.get(`source="${source}",store="${first}"`)).toBe(0);
      await heal();
      await untilReady(ingress, "ready");
      await senders.more(100);
      const acks = await senders.stop();

      // A busy machine may keep the one place that is left from answering in its 800 ms, now and then.
      const taken = acks.filter(({ status }) => status === 202).map(({ id }) => id);
      expect(statuses(acks).filter((status) => status !== 503)).toEqual([202]);
      expect(taken.length).toBeGreaterThan(0.95 * acks.length);
      expect(slowest(acks)).toBeLessThan(ANSWERED_WITHIN_MS);
      expect(await untilCompletedOnce(stage.pipeline, taken)).toEqual([]);
    },
  );

  test("answers 503 in time while both hang, and takes events when one of them is back", async () => {
    const ingress = await stage.pipeline.startInProcess("ingress");
    await untilReady(ingress, "ready");
    const senders = startSenders(ingress, "fast", prefix);
    await senders.more(50);
    stage.redis.freeze();
    stage.postgres.freeze();
    await until(() => senders.acks.filter(({ status }) => status === 503).length > 200);
    expect(await readiness(ingress)).toMatchObject({ httpStatus: 503, status: "not_ready" });
    stage.postgres.thaw();
    await untilReady(ingress, "degraded");
    const before = senders.acks.length;
    await senders.more(50);
    stage.redis.thaw();
    await untilReady(ingress, "ready");
    const acks = await senders.stop();
    expect(slowest(acks)).toBeLessThan(ANSWERED_WITHIN_MS);
    expect(acks.slice(before).filter(({ status }) => status === 202).length).toBeGreaterThan(20);
  });

  test.each([
    ["Redis", "ledger", () => stage.redis.kill(), () => stage.redis.restart()],
    ["Postgres", "queue", () => stage.postgres.kill(), () => stage.postgres.restart()],
  ] as const)(
    "boots while %s is down, degraded on the %s, and is whole later",
    async (_what, other, strike, heal) => {
      await strike();
      const ingress = await stage.pipeline.start("ingress");
      await until(async () => (await readiness(ingress)).status === "degraded");
      expect((await readiness(ingress)).places).toMatchObject({ fast: other, safe: other });
      const ids = [`${prefix}_1`, `${prefix}_2`];
      expect(await deliver(ingress, "fast", { id: ids[0] })).toMatchObject({ status: 202 });
      expect(await deliver(ingress, "safe", { id: ids[1] })).toMatchObject({ status: 202 });
      await heal();
      await untilReady(ingress, "ready");
      await stage.pipeline.startInProcess("worker");
      expect(await untilCompletedOnce(stage.pipeline, ids)).toEqual([]);
    },
  );

  test("tells of a missing secret at once, also while both are down", async () => {
    stage.redis.freeze();
    stage.postgres.freeze();
    const started = stage.pipeline.startInProcess("ingress", { SAFE_WEBHOOK_SECRET: "" });
    await expect(started).rejects.toThrow("SAFE_WEBHOOK_SECRET");
  });
});
