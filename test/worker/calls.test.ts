import { on } from "@millrace/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { until } from "../support/until.ts";
import { effect, makeEvent, openTestWorkers, type TestWorkers } from "./worker-fixture.ts";

onOneBackend("a worker whose handlers make calls", (prepare) => {
  let workers: TestWorkers;
  beforeAll(async () => {
    workers = await openTestWorkers(await prepare());
  });
  afterAll(() => workers?.close());

  const enqueue = async (count: number, type: string) => {
    const events = Array.from({ length: count }, () => makeEvent({ type }));
    expect(await workers.queues.enqueue(events)).toEqual(Array(count).fill("accepted"));
    return events;
  };
  const jobs = async () => (await workers.queues.counts()).get("shop");
  const completed = (events: readonly { eventId: string }[]) =>
    until(async () => {
      const rows = await Promise.all(events.map(({ eventId }) => workers.row(eventId)));
      return rows.every((row) => row?.status === "completed");
    });

  test("takes as many jobs as its calls may be, whatever its concurrency", async () => {
    let [calling, most, open] = [0, 0, () => {}];
    const opened = new Promise<void>((resolve) => (open = resolve));
    const call = async () => {
      calling += 1;
      most = Math.max(most, calling);
      await opened;
      calling -= 1;
    };
    const { worker } = await workers.work([on("shop", "slow", { call }), effect], {
      concurrency: 2,
      callsMax: 12,
    });
    const events = await enqueue(20, "slow");
    await until(() => calling === 12);
    // Two more wait for their place; the rest is there for other workers.
    await until(async () => (await jobs())?.active === 14);
    expect(await jobs()).toMatchObject({ active: 14, waiting: 6 });
    open();
    await completed(events);
    expect(most).toBe(12);
    await worker.close();
  });

  test("takes no more jobs than its slots when their handlers make none", async () => {
    let [running, open] = [0, () => {}];
    const opened = new Promise<void>((resolve) => (open = resolve));
    const write = async () => {
      running += 1;
      await opened;
    };
    const handlers = [on("shop", "plain", write), on("shop", "slow", { call: () => {} })];
    const { worker } = await workers.work(handlers, { concurrency: 2, callsMax: 12 });
    const events = await enqueue(10, "plain");
    await until(() => running === 2);
    await until(async () => (await jobs())?.active === 2);
    expect(await jobs()).toMatchObject({ active: 2, waiting: 8 });
    open();
    await completed(events);
    await worker.close();
  });

  test("renews the locks of jobs whose calls take longer than a lock lasts", async () => {
    let calls = 0;
    const { worker } = await workers.work(
      [
        on("shop", "slow", {
          call: async () => {
            calls += 1;
            await new Promise((resolve) => setTimeout(resolve, 2_500));
          },
        }),
        effect,
      ],
      { lockDurationMs: 1_500, stalledIntervalMs: 500 },
    );
    const events = await enqueue(1, "slow");
    await completed(events);
    expect(calls).toBe(1);
    expect(await workers.row(events[0]?.eventId ?? "")).toMatchObject({ attempts: 1 });
    await worker.close();
  });
});
