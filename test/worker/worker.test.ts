import { on, type EventKey, type FailedEvent } from "@millrace/core";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import { effect, makeEvent, openTestWorkers } from "./worker-fixture.ts";

onOneBackend("a worker", (prepare) => {
  const workers = openForAll(async () => openTestWorkers(await prepare()));

  const statusIs = (eventId: string, status: string) =>
    until(async () => (await workers.row(eventId))?.status === status, {
      what: `event ${eventId} being ${status}`,
    });

  const untilFailed = (event: EventKey) =>
    until(async () => {
      const job = await workers.queues.findJob(event);
      return job?.state === "failed" && job;
    });
  const breaks = on("shop", "order.created", () => {
    throw new Error("no stock");
  });

  test("the last attempt fails job and event; a retry of the job completes both", async () => {
    let repaired = false;
    const { worker } = await workers.work([
      effect,
      on("shop", "*", () => {
        if (!repaired) throw new Error("not yet");
      }),
    ]);
    const event = makeEvent();
    await workers.queues.enqueue([event]);
    await statusIs(event.eventId, "failed");
    expect(await workers.row(event.eventId)).toMatchObject({
      attempts: 3,
      last_error: "Error: not yet",
    });
    const job = await untilFailed(event);
    expect(job?.failedReason).toContain("handler_failed: Error: not yet");
    expect(job?.event?.body).toBeUndefined();
    repaired = true;
    expect(await workers.queues.retryJob(event)).toBe("retried");
    await statusIs(event.eventId, "completed");
    await until(async () => (await workers.queues.findJob(event))?.state === "completed");
    expect(await workers.effects(event.eventId)).toBe(1);
    await worker.close();
  });

  test("a job whose body is not the verified one is failed, in the ledger too when that knows the event", async () => {
    const { worker } = await workers.work([effect]);
    const unknown = makeEvent({ bodyHash: "x".repeat(43) });
    const known = makeEvent();
    await workers.ledger.intake.accept([known]);
    await workers.queues.enqueue([unknown, { ...known, bodyHash: "x".repeat(43) }]);
    await statusIs(known.eventId, "failed");
    expect((await workers.row(known.eventId))?.last_error).toContain(
      "not the one that was verified",
    );
    await untilFailed(unknown);
    expect(await workers.row(unknown.eventId)).toBeUndefined();
    expect(await workers.effects(known.eventId)).toBe(0);
    await worker.close();
  });

  test("onFailed is told of an event that failed for good, once, and harms nothing", async () => {
    const told: FailedEvent[] = [];
    const { worker, hookErrors } = await workers.work(
      [breaks, on("shop", "order.paid", () => {})],
      {},
      {
        onFailed: (event) => {
          told.push(event);
          throw new TypeError("the hook is broken");
        },
      },
    );
    const event = makeEvent();
    const refused = makeEvent({ bodyHash: "x".repeat(43) });
    const well = makeEvent({ type: "order.paid" });
    await workers.queues.enqueue([event, refused, well]);
    await statusIs(event.eventId, "failed");
    await statusIs(well.eventId, "completed");
    for (const failed of [event, refused]) await untilFailed(failed);
    await worker.close();
    const failure = { attempts: 3, code: "handler_failed", message: "Error: no stock" };
    const key = { source: "shop", eventId: event.eventId, generation: 0 };
    expect(told).toEqual([{ ...key, type: "order.created", ...failure }]);
    expect(hookErrors).toEqual([new TypeError("the hook is broken")]);
  });

  test("onFailed is told of an event that the reconciler has failed", async () => {
    const told: FailedEvent[] = [];
    const { worker } = await workers.work([], {}, { onFailed: (failed) => void told.push(failed) });
    const { source, eventId, generation, type } = makeEvent();
    worker.reportAbandoned({ source, eventId, generation }, type, "job stalled too often");
    await until(() => told.length > 0);
    expect(told).toEqual([
      {
        ...{ source, eventId, generation, type, attempts: 0 },
        ...{ code: "gave_up", message: "job stalled too often" },
      },
    ]);
    await worker.close();
  });

  test("a worker that closes waits for onFailed, which holds up no job", async () => {
    let finish = () => {};
    let finished = false;
    const { worker } = await workers.work(
      [breaks],
      {},
      {
        onFailed: async () => {
          await new Promise<void>((resolve) => (finish = resolve));
          finished = true;
        },
      },
    );
    const event = makeEvent();
    await workers.queues.enqueue([event]);
    await untilFailed(event);
    const closed = worker.close();
    finish();
    await closed;
    expect(finished).toBe(true);
  });

  test("a worker that closes undoes what runs too long; another completes it, with no attempt lost", async () => {
    const { worker } = await workers.work([effect, on("shop", "*", () => new Promise(() => {}))], {
      shutdownTimeoutMs: 100,
    });
    const event = makeEvent();
    await workers.queues.enqueue([event]);
    await until(() => worker.running === 1);
    await until(async () => (await workers.row(event.eventId))?.status === "pending");
    await worker.close();
    expect(await workers.effects(event.eventId)).toBe(0);
    const next = await workers.work([effect]);
    await statusIs(event.eventId, "completed");
    expect(next.notices).toContainEqual(
      expect.objectContaining({ kind: "claimed", attempt: 2, attemptSinceRetry: 1 }),
    );
    expect(await workers.effects(event.eventId)).toBe(1);
    await next.worker.close();
  });
});
