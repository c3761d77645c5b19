import { internal } from "millrace";
import { on, parseConfig, type EventKey, type Handler } from "@millrace/core";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plainProvider } from "../intake/plain-provider.ts";
import { onOneBackend, openOn } from "../support/backends.ts";
import { openTestLedger, type TestLedger } from "../support/ledger-fixture.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import type { ServerUrls } from "../support/server-urls.ts";
import { until } from "../support/until.ts";
import { startWorker } from "../support/worker.ts";
import type { Queues } from "@millrace/queue";
import { makeEvent } from "./worker-fixture.ts";

const POLICY = { attempts: 2, backoff: { firstMs: 10, factor: 1, maxMs: 10 } };
const SOURCES = ["shop", "mail"];

// These workers have no reconciler: what is not enqueued never runs.
onOneBackend("what handlers emit", (prepare) => {
  let servers: ServerUrls;
  let ledger: TestLedger;
  let queues: Queues;
  let release: () => Promise<void>;
  beforeAll(async () => {
    const opened = await prepare();
    servers = opened;
    release = () => opened.release();
    await openOn(opened, async () => {
      ledger = await openTestLedger({ url: opened.databaseUrl });
      await ledger.ask("create table sent (mail text, at timestamptz default clock_timestamp())");
      queues = await openTestQueues(opened, "worker", SOURCES);
    });
  });
  afterAll(async () => {
    await queues?.close();
    await ledger?.close();
    await release?.();
  });

  const work = (handlers: readonly Handler[], mail = {}) =>
    startWorker(
      servers,
      parseConfig({
        sources: {
          shop: { provider: plainProvider(), options: POLICY },
          mail: internal({ ...POLICY, ...mail }),
        },
        handlers,
        worker: { lockDurationMs: 3_000, stalledIntervalMs: 1_000 },
      }),
      handlers,
    );

  const send = on("mail", "*", async (event, { tx }) => {
    await tx.execute(sql`insert into sent (mail) values (${event.id})`);
  });
  const emits = (afterMs = 0) =>
    on("shop", "*", async (_, { emit }) => await emit("mail", "receipt", {}, { afterMs }));
  const child = (eventId: string) => `shop|${eventId}|0|receipt|#1`;
  const rowOf = async (eventId: string) => {
    const [row] = await ledger.ask<{
      status: string;
      marked: boolean;
      attempts: number;
      waitedMs: number;
    }>(
      `select status, enqueued_at is not null as marked, attempts,
         (extract(epoch from started_at - recorded_at) * 1000)::float8 as "waitedMs"
       from millrace.events where event_id = $1`,
      [eventId],
    );
    return row;
  };
  const untilIs = (eventId: string, status: string) =>
    until(async () => (await rowOf(eventId))?.status === status, { what: `${eventId} ${status}` });
  const sent = (eventId: string) =>
    ledger.ask("select 1 from sent where mail = $1", [child(eventId)]);

  test("runs once, soon after its parent's commit", async () => {
    const worker = await work([emits(), send]);
    const waits: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const event = makeEvent();
      await ledger.ledger.intake.accept([event]);
      await queues.enqueue([event], { identityOnly: true });
      await untilIs(child(event.eventId), "completed");
      expect(await sent(event.eventId)).toHaveLength(1);
      waits.push((await rowOf(child(event.eventId)))?.waitedMs ?? Infinity);
    }
    waits.sort((a, b) => a - b);
    // The middle one: far below every interval of the reconciler, also on a machine that is busy.
    expect(waits[10]).toBeLessThan(1_000);
    await worker.close();
  });

  test("is marked as enqueued, and only then", async () => {
    const worker = await work([emits()]);
    await queues.pause("mail");
    try {
      const event = makeEvent();
      await ledger.ledger.intake.accept([event]);
      await queues.enqueue([event], { identityOnly: true });
      await until(async () => {
        const row = await rowOf(child(event.eventId));
        if (row?.marked) {
          const key = { source: "mail", eventId: child(event.eventId), generation: 0 };
          expect(await queues.findJob(key)).toMatchObject({ state: "waiting" });
        }
        return row?.marked;
      });
    } finally {
      await queues.resume("mail");
      await worker.close();
    }
  });

  test("runs no earlier than it was asked to", async () => {
    const worker = await work([emits(1_500), send]);
    const event = makeEvent();
    await ledger.ledger.intake.accept([event]);
    await queues.enqueue([event], { identityOnly: true });
    const key = { source: "mail", eventId: child(event.eventId), generation: 0 };
    await until(async () => (await queues.findJob(key))?.state === "delayed");
    await untilIs(child(event.eventId), "completed");
    // The job's time begins when the queue gets it, a moment after the row's.
    expect((await rowOf(child(event.eventId)))?.waitedMs).toBeGreaterThan(1_400);
    await worker.close();
  });

  test("fails by itself, and its parent stays completed", async () => {
    const broken = on("mail", "*", () => {
      throw new Error("no such address");
    });
    const worker = await work([emits(), broken]);
    const event = makeEvent();
    await ledger.ledger.intake.accept([event]);
    await queues.enqueue([event], { identityOnly: true });
    await untilIs(child(event.eventId), "failed");
    expect(await rowOf(child(event.eventId))).toMatchObject({ attempts: 2 });
    expect(await rowOf(event.eventId)).toMatchObject({ status: "completed", attempts: 1 });
    await worker.close();
  });

  test("is on the queue when the worker has closed", async () => {
    const worker = await work([emits()]);
    const event = makeEvent();
    await ledger.ledger.intake.accept([event]);
    await queues.pause("mail");
    try {
      await queues.enqueue([event], { identityOnly: true });
      await untilIs(event.eventId, "completed");
      await worker.close();
      const key = { source: "mail", eventId: child(event.eventId), generation: 0 };
      expect(await queues.findJob(key)).toMatchObject({ state: "waiting" });
      expect(await rowOf(child(event.eventId))).toMatchObject({ marked: true });
    } finally {
      await queues.resume("mail");
    }
  });

  test("stays in the ledger while its queue is full", async () => {
    const worker = await work([emits()], { queueDepthMax: 1 });
    await queues.pause("mail");
    const keys: EventKey[] = [];
    const withoutJob = async () => {
      const jobs = await queues.jobStatuses(keys);
      return jobs.filter((job) => job === undefined).length;
    };
    try {
      // The queue is measured every second, and until then its jobs are not counted.
      await until(async () => {
        const event = makeEvent();
        await ledger.ledger.intake.accept([event]);
        await queues.enqueue([event], { identityOnly: true });
        await untilIs(event.eventId, "completed");
        const missing = await withoutJob();
        keys.push({ source: "mail", eventId: child(event.eventId), generation: 0 });
        return missing > 0;
      });
      await worker.close();
      expect(await withoutJob()).toBeGreaterThan(0);
      expect(await withoutJob()).toBeLessThan(keys.length);
    } finally {
      await queues.resume("mail");
    }
  });
});
