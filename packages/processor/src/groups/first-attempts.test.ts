import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FirstAttempts } from "./first-attempts.ts";
import { openSilently } from "../handler/handler-log.ts";
import { Handlers } from "../handler/run-handlers.ts";
import { createSlots } from "../job/slots.ts";
import { makeJob } from "../testing/make-job.ts";

const TRANSACTIONS_MAX = 2;
const BACKOFF = { firstMs: 0, factor: 1, maxMs: 0 };
const POLICY = { attempts: 3, backoff: BACKOFF, waitMaxMs: 60_000 };
const first = () => ({ job: makeJob(), policy: POLICY, plan: undefined });
const never = new AbortController().signal;

// A transaction that takes long lets the next one begin. Here none does before it has ended.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

// Nothing reads it, because there are no handlers.
const unused = {} as never;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** First attempts of a type that goes in groups, whose transactions begin and do not end. */
async function openedTransactions() {
  const started: number[] = [];
  let isWarm = false;
  const attempts = new FirstAttempts(
    {
      ledger: {
        attemptGroup: (units) => {
          started.push(units.length);
          return new Promise(() => {});
        },
        attempt: async () => ({ kind: "busy" }),
        attemptFirst: async ({ event }, work) => {
          if (isWarm) {
            started.push(1);
            return await new Promise(() => {});
          }
          const outcome = await work(unused, { ...event, body: new Uint8Array() }, unused);
          return { kind: "completed", outcome };
        },
      },
      handlers: new Handlers([], {}),
      openLog: openSilently,
      slots: createSlots(100),
      draining: never,
      closing: never,
      handlerTimeoutMs: 1_000,
      notify: () => {},
      internalSources: new Map(),
      onEmitted: () => {},
    },
    { sizeMax: () => 50, concurrency: 20 },
  );
  for (let run = 0; run < 64; run += 1) await attempts.attempt(first());
  isWarm = true;
  return { attempt: () => void attempts.attempt(first()), started };
}

test("few events do not wait for each other: up to eight transactions run, and no more", async () => {
  const { attempt, started } = await openedTransactions();
  for (let event = 0; event < 12; event += 1) {
    attempt();
    await turn();
  }
  expect(started).toEqual(Array.from({ length: 8 }, () => 1));
});

test("many events that wait share the usual number of transactions", async () => {
  const { attempt, started } = await openedTransactions();
  attempt();
  attempt();
  await turn();
  const before = started.length;
  for (let event = 0; event < 200; event += 1) attempt();
  await turn();
  expect(before).toBe(1);
  expect(started).toHaveLength(TRANSACTIONS_MAX);
  expect(started[1]).toBeGreaterThan(10);
});
