import { internal } from "millrace";
import { on, type EventKey, type Handler } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import { makeEvent, openTestWorkers } from "./worker-fixture.ts";

const POLICY = { attempts: 2, backoff: { firstMs: 10, factor: 1, maxMs: 10 } };

// These workers have no reconciler: what is not enqueued never runs.
onOneBackend("what handlers emit", (prepare) => {
  const workers = openForAll(async () => openTestWorkers(await prepare()));

  const work = (handlers: readonly Handler[], mail = {}) =>
    workers.work(handlers, {}, { sources: { mail: internal({ ...POLICY, ...mail }) } });
  const deliver = async () => {
    const event = makeEvent();
    await workers.ledger.intake.accept([event]);
    await workers.queues.enqueue([event], { identityOnly: true });
    return event;
  };

  const send = on("mail", "*", async (event, { tx }) => {
    await tx.execute(sql`insert into effects values (${event.id})`);
  });
  const emits = (afterMs = 0) =>
    on("shop", "*", async (_, { emit }) => await emit("mail", "receipt", {}, { afterMs }));
  const child = (eventId: string) => `shop|${eventId}|0|receipt|#1`;
  const rowOf = async (eventId: string) => {
    const [row] = await workers.ask<{
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
  const keyOf = (eventId: string) => ({ source: "mail", eventId: child(eventId), generation: 0 });

  test("runs once, soon after its parent's commit", async () => {
    const { worker } = await work([emits(), send]);
    const waits: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const event = await deliver();
      await untilIs(child(event.eventId), "completed");
      expect(await workers.effects(child(event.eventId))).toBe(1);
      waits.push((await rowOf(child(event.eventId)))?.waitedMs ?? Infinity);
    }
    waits.sort((a, b) => a - b);
    // The middle one: far below every interval of the reconciler, also on a machine that is busy.
    expect(waits[10]).toBeLessThan(1_000);
    await worker.close();
  });

  test("is marked as enqueued, and only then", async () => {
    const { worker } = await work([emits()]);
    await workers.queues.pause("mail");
    try {
      const event = await deliver();
      await until(async () => {
        const row = await rowOf(child(event.eventId));
        if (row?.marked) {
          expect(await workers.queues.findJob(keyOf(event.eventId))).toMatchObject({
            state: "waiting",
          });
        }
        return row?.marked;
      });
    } finally {
      await workers.queues.resume("mail");
      await worker.close();
    }
  });

  test("runs no earlier than it was asked to", async () => {
    const { worker } = await work([emits(1_500), send]);
    const event = await deliver();
    await until(
      async () => (await workers.queues.findJob(keyOf(event.eventId)))?.state === "delayed",
    );
    await untilIs(child(event.eventId), "completed");
    // The job's time begins when the queue gets it, a moment after the row's.
    expect((await rowOf(child(event.eventId)))?.waitedMs).toBeGreaterThan(1_400);
    await worker.close();
  });

  test("is on the queue when the worker has closed", async () => {
    const { worker } = await work([emits()]);
    await workers.queues.pause("mail");
    try {
      const event = await deliver();
      await untilIs(event.eventId, "completed");
      await worker.close();
      expect(await workers.queues.findJob(keyOf(event.eventId))).toMatchObject({
        state: "waiting",
      });
      expect(await rowOf(child(event.eventId))).toMatchObject({ marked: true });
    } finally {
      await workers.queues.resume("mail");
    }
  });

  test("stays in the ledger while its queue is full", async () => {
    const { worker } = await work([emits()], { queueDepthMax: 1 });
    await workers.queues.pause("mail");
    const keys: EventKey[] = [];
    const withoutJob = async () => {
      const jobs = await workers.queues.jobStatuses(keys);
      return jobs.filter((job) => job === undefined).length;
    };
    try {
      // The queue is measured every second, and until then its jobs are not counted.
      await until(async () => {
        const event = await deliver();
        await untilIs(event.eventId, "completed");
        const missing = await withoutJob();
        keys.push(keyOf(event.eventId));
        return missing > 0;
      });
      await worker.close();
      expect(await withoutJob()).toBeGreaterThan(0);
      expect(await withoutJob()).toBeLessThan(keys.length);
    } finally {
      await workers.queues.resume("mail");
    }
  });
});
