import { on } from "@millrace/core";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { until } from "../support/until.ts";
import { createGate } from "../processor/processor-fixture.ts";
import { effect, makeEvent, openTestWorkers } from "./worker-fixture.ts";

onOneBackend("a worker whose handlers make calls", (prepare) => {
  const workers = openForAll(async () => openTestWorkers(await prepare()));

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
    const { open, pass, seen, untilWaiting } = createGate();
    const { worker } = await workers.work([on("shop", "slow", { call: pass }), effect], {
      concurrency: 2,
      callsMax: 12,
    });
    const events = await enqueue(20, "slow");
    await untilWaiting(12);
    // Two more wait for their place; the rest is there for other workers.
    await until(async () => (await jobs())?.active === 14);
    expect(await jobs()).toMatchObject({ active: 14, waiting: 6 });
    open();
    await completed(events);
    expect(seen.most).toBe(12);
    await worker.close();
  });

  test("takes no more jobs than its slots when their handlers make none", async () => {
    const { open, pass, untilWaiting } = createGate();
    const handlers = [on("shop", "plain", pass), on("shop", "slow", { call: () => {} })];
    const { worker } = await workers.work(handlers, { concurrency: 2, callsMax: 12 });
    const events = await enqueue(10, "plain");
    await untilWaiting(2);
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
