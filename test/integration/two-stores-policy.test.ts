import { createLedger } from "@millrace/ledger";
import { replayEvent } from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { onRedis, type TestServers } from "../support/backends.ts";
import { untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { eventOf, reaches } from "../support/seen-events.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { createTwoStorePipeline, deliver, untilReady } from "./two-stores.ts";

let servers: TestServers;
let pipeline: Pipeline;
let queues: Queues;

const LONG = { withinMs: 90_000 };
const SOURCES = ["fast", "safe", "quiet", "narrow", "large"];
const rowOf = (eventId: string) => eventOf(pipeline.database, eventId);
const switchOn = (name: string) =>
  pipeline.database.query("insert into switches values ($1)", [name]);

describeOnRedis("an ingress with both event stores", () => {
  beforeEach(async () => {
    servers = await onRedis();
    pipeline = await createTwoStorePipeline(servers);
    queues = await openTestQueues(servers, "cli", SOURCES);
  });
  afterEach(async () => {
    await queues?.close();
    await pipeline?.stop();
    await servers?.release();
  });

  const startReady = async () => {
    const ingress = await pipeline.startInProcess("ingress");
    await untilReady(ingress, "ready");
    return ingress;
  };

  describe("to which a failed event is delivered again", () => {
    test.each(["fast", "safe"])("retries it before the answer (%s)", async (source) => {
      const ingress = await startReady();
      await pipeline.startInProcess("worker");
      const send = () => deliver(ingress, source, { id: "evt_1", switch: "on" });
      expect((await send()).status).toBe(202);
      await untilStatus("evt_1", "failed");
      expect(await rowOf("evt_1")).toMatchObject({ attempts: 2 });
      expect((await send()).status).toBe(200);
      await until(async () => (await rowOf("evt_1"))?.attempts === 4);
      await untilStatus("evt_1", "failed");
      await switchOn("on");
      expect((await send()).status).toBe(200);
      expect(await untilCompletedOnce(pipeline.database, ["evt_1"], LONG)).toEqual([]);
      const { attempts } = (await rowOf("evt_1")) ?? {};
      expect((await send()).status).toBe(200);
      expect(await rowOf("evt_1")).toMatchObject({ status: "completed", attempts });
    });

    describe("without a ledger", () => {
      const deliverFailing = async () => {
        const ingress = await pipeline.startInProcess("ingress", { DATABASE_URL: "" });
        await pipeline.startInProcess("worker");
        await untilReady(ingress, "ready");
        const send = () => deliver(ingress, "fast", { id: "evt_1", switch: "on" });
        expect((await send()).status).toBe(202);
        await untilJob(0, "failed");
        return send;
      };
      const jobOf = (generation: number) =>
        queues.findJob({ source: "fast", eventId: "evt_1", generation });
      const untilJob = (generation: number, state: string) =>
        until(async () => (await jobOf(generation))?.state === state);
      const replay = () =>
        replayEvent(
          { ledger: createLedger({ pool: pipeline.database }), queues },
          { source: "fast", eventId: "evt_1" },
        );
      const statuses = async () => {
        const { rows } = await pipeline.database.query(
          "select status from millrace.events where event_id = 'evt_1' order by generation",
        );
        return rows.map(({ status }) => status);
      };

      test("retries it by the queue alone", async () => {
        const send = await deliverFailing();
        await switchOn("on");
        expect((await send()).status).toBe(200);
        expect(await untilCompletedOnce(pipeline.database, ["evt_1"], LONG)).toEqual([]);
      });

      test("retries its latest generation", async () => {
        const send = await deliverFailing();
        await replay();
        await untilJob(1, "failed");
        await switchOn("on");
        expect((await send()).status).toBe(200);
        expect(await untilCompletedOnce(pipeline.database, ["evt_1"], LONG)).toEqual([]);
        expect(await statuses()).toEqual(["failed", "completed"]);
      });

      test("does not run it again once a replay has completed", async () => {
        const send = await deliverFailing();
        await switchOn("on");
        await replay();
        await untilJob(1, "completed");
        // A queue forgets completed jobs after a while, and failed ones never.
        await queues.queues.get("fast")?.clean(0, 10, "completed");
        const finished = await jobOf(0);
        expect((await send()).status).toBe(200);
        await until(async () => {
          const job = await jobOf(0);
          const again = job?.finishedAtMs !== finished?.finishedAtMs;
          return again && (job?.state === "failed" || job?.state === "completed");
        });
        expect(await statuses()).toEqual(["failed", "completed"]);
        expect(await untilCompletedOnce(pipeline.database, ["evt_1"], LONG)).toEqual([]);
      });
    });
  });
});

const untilStatus = (eventId: string, status: string) =>
  reaches(pipeline.database, eventId, status);
