import { MillraceError, on, type QueuedEvent, type Settlement } from "@millrace/core";
import { expect, test } from "vitest";
import { makeJob } from "./testing/make-job.ts";
import { write } from "./testing/memory-ledger.ts";
import { processorOnMemory } from "./testing/processor-on-memory.ts";

async function processOne(
  processor: { process(jobs: readonly QueuedEvent[]): Promise<Settlement>[] },
  job: QueuedEvent,
): Promise<Settlement> {
  const [settlement] = await Promise.all(processor.process([job]));
  if (settlement === undefined) throw new Error("Cannot see a settlement");
  return settlement;
}

/** The same job as BullMQ would bring it again after it was told of a failure. */
const again = (job: QueuedEvent, run: string): QueuedEvent => ({ ...job, run });

test("every handler that hears the event runs, in order, in one transaction", async () => {
  const { processor, ledger } = processorOnMemory([
    on("shop", "order.created", (_event, { tx }) => write(tx, "one")),
    on("shop", "order.paid", (_event, { tx }) => write(tx, "never")),
    on("bank", "*", (_event, { tx }) => write(tx, "never")),
    on("shop", ["*", "order.created"], async (_event, { tx }) => {
      await Promise.resolve();
      write(tx, "two");
    }),
  ]);
  const job = makeJob();
  expect(await processOne(processor, job)).toEqual({ kind: "completed", outcome: "handled" });
  expect(ledger.row(job.event)?.writes).toEqual(["one", "two"]);
});

test("an event that nobody hears is completed as ignored", async () => {
  const { processor } = processorOnMemory([on("shop", "other", () => {})]);
  expect(await processOne(processor, makeJob())).toEqual({ kind: "completed", outcome: "ignored" });
});

test("a suspected replay is completed without a run; only a first generation of an unsigned id is looked into", async () => {
  const looked: string[] = [];
  const look = async (event: Parameters<typeof makeJob>[0], policy = {}) => {
    const { processor, ledger } = processorOnMemory(
      [on("shop", "*", () => void looked.push("run"))],
      {
        policy,
      },
    );
    const attempt = ledger.attempt;
    ledger.attempt = (key, number, work, limits) => {
      looked.push(limits.bodyDedup === true ? "looked" : "not looked");
      const suspectedReplay = limits.bodyDedup === true;
      return attempt(key, number, (tx, locked) => work(tx, { ...locked, suspectedReplay }), limits);
    };
    const settlement = await processOne(processor, makeJob(event));
    return settlement.kind === "completed" ? settlement.outcome : settlement.kind;
  };
  expect(await look({ unsigned: true })).toBe("suspected_replay");
  expect(looked.splice(0)).toEqual(["looked"]);
  expect(await look({ unsigned: false })).toBe("handled");
  expect(await look({ unsigned: true, generation: 1 })).toBe("handled");
  expect(await look({ unsigned: true }, { bodyDedup: false })).toBe("handled");
  expect(looked).toEqual(["not looked", "run", "not looked", "run", "not looked", "run"]);
});

test("an event that is completed is a duplicate, and no handler runs", async () => {
  let runs = 0;
  const { processor } = processorOnMemory([on("shop", "*", () => void (runs += 1))]);
  const job = makeJob();
  await processOne(processor, job);
  expect(await processOne(processor, again(job, "run-2"))).toEqual({ kind: "duplicate" });
  expect(runs).toBe(1);
});

test("a job of an unknown source is failed, also by a name that every object has", async () => {
  const { processor, ledger } = processorOnMemory([]);
  for (const source of ["nobody", "constructor", "__proto__"]) {
    expect(await processOne(processor, makeJob({ source }))).toMatchObject({
      kind: "failed",
      code: "unknown_source",
    });
  }
  expect(ledger.calls).toEqual([]);
});

test("a job whose body was changed is failed, and the ledger does not hear of it", async () => {
  const { processor, ledger } = processorOnMemory([]);
  const { bodyHash } = makeJob({ body: "genuine" }).event;
  const settlement = await processOne(processor, makeJob({ body: "forged", bodyHash }));
  expect(settlement).toMatchObject({ kind: "failed", code: "body_hash_mismatch" });
  expect(ledger.rows.size).toBe(0);
});

test("a job without a body that the ledger does not know is failed", async () => {
  const { processor } = processorOnMemory([]);
  const settlement = await processOne(processor, makeJob({ body: undefined }));
  expect(settlement).toMatchObject({ kind: "failed", code: "body_missing" });
});

test("a slow handler does not hold back the answers of its batch-mates", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const { processor } = processorOnMemory([on("shop", "slow", () => held)]);
  const [slow, quick] = processor.process([makeJob({ type: "slow" }), makeJob({ type: "quick" })]);
  expect(await quick).toMatchObject({ kind: "completed" });
  expect(processor.running).toBe(1);
  release();
  expect(await slow).toMatchObject({ kind: "completed" });
});

test("an attempt is not counted before there is a slot to run it in", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const { processor, ledger } = processorOnMemory([on("shop", "*", () => held)], {
    concurrency: 1,
  });
  const settlements = processor.process([makeJob(), makeJob()]);
  while (processor.running < 1 || ledger.rows.size < 1) await new Promise(setImmediate);
  expect(ledger.rows.size).toBe(1);
  release();
  await Promise.all(settlements);
  expect(ledger.rows.size).toBe(2);
});

test("closing breaks off what runs and what waits, undone, uncounted and handed back", async () => {
  const { processor, ledger } = processorOnMemory(
    [
      on("shop", "*", (_event, { signal, tx }) => {
        write(tx, "half");
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("told to stop")));
        });
      }),
    ],
    { concurrency: 1 },
  );
  const job = makeJob();
  const settlements = processor.process([job, makeJob()]);
  while (ledger.rows.size < 1 || !ledger.row(job.event)?.locked) await new Promise(setImmediate);
  await processor.close();
  expect(await Promise.all(settlements)).toMatchObject([
    { kind: "retry", code: "shutting_down", recorded: true },
    { kind: "retry", code: "shutting_down", recorded: false },
  ]);
  expect(ledger.row(job.event)).toMatchObject({ status: "pending", sinceRetry: 0, writes: [] });
});

test("draining hands back what waits for a slot, and lets what runs end", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const { processor, ledger } = processorOnMemory([on("shop", "*", () => held)], {
    concurrency: 1,
  });
  const [running, waiting] = processor.process([makeJob(), makeJob()]);
  while (ledger.rows.size < 1) await new Promise(setImmediate);
  processor.drain();
  expect(await waiting).toMatchObject({ kind: "retry", code: "shutting_down", recorded: false });
  release();
  expect(await running).toMatchObject({ kind: "completed" });
  expect(await processOne(processor, makeJob())).toMatchObject({ code: "shutting_down" });
  expect(ledger.rows.size).toBe(1);
});

test("a job that lost its lock is broken off, undone and left to the next", async () => {
  const abort = new AbortController();
  const { processor, ledger } = processorOnMemory([
    on("shop", "*", (_event, { tx }) => {
      write(tx, "stale");
      abort.abort(new MillraceError("lost_claim", "Cannot renew the lock of the job"));
      return new Promise(() => {});
    }),
  ]);
  const job = makeJob({}, { signal: abort.signal });
  expect(await processOne(processor, job)).toEqual({ kind: "lost", afterMs: 5_000 });
  expect(ledger.row(job.event)).toMatchObject({ status: "pending", sinceRetry: 1, writes: [] });
});

test("a listener that throws changes nothing", async () => {
  const { processor, notices } = processorOnMemory([on("shop", "*", () => {})]);
  notices.push = () => {
    throw new Error("listener");
  };
  expect(await processOne(processor, makeJob())).toMatchObject({ kind: "completed" });
});

test("notices hold no body and no header", async () => {
  const { processor, notices } = processorOnMemory([
    on("shop", "*", () => {
      throw new Error("no");
    }),
  ]);
  await processOne(processor, makeJob({ body: '{"canary":1}', headers: { "x-canary": "canary" } }));
  expect(notices.map((notice) => notice.kind)).toEqual(["claimed", "attempt_failed", "settled"]);
  expect(JSON.stringify(notices)).not.toContain("canary");
});
