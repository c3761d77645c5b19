import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FirstAttempts } from "./first-attempts.ts";
import { openSilently } from "../handler/handler-log.ts";
import { Handlers } from "../handler/run-handlers.ts";
import { createSlots } from "../job/slots.ts";
import { makeJob } from "../testing/make-job.ts";

const TRANSACTIONS_MAX = 2;
const never = new AbortController().signal;

// A transaction that takes long lets the next one begin. Here none does before it has ended.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

// Nothing reads it, because there are no handlers.
const unused = {} as never;
const turn = () => new Promise((resolve) => setImmediate(resolve));

type AttemptGroup = ConstructorParameters<typeof FirstAttempts>[0]["ledger"]["attemptGroup"];

/** First attempts of a type that goes in groups. A transaction of one event does not end. */
async function warmAttempts(attemptGroup: AttemptGroup, onSingle = () => {}, sources = ["shop"]) {
  let isWarm = false;
  const attempts = new FirstAttempts(
    {
      ledger: {
        attemptGroup,
        attempt: async () => ({ kind: "busy" }),
        attemptFirst: async ({ event }, work) => {
          if (isWarm) {
            onSingle();
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
  const attempt = (source = "shop") =>
    attempts.attempt({ job: makeJob({ source }), plan: undefined });
  for (const source of sources) for (let run = 0; run < 64; run += 1) await attempt(source);
  isWarm = true;
  return attempt;
}

/** Those whose transactions begin and do not end. */
async function openedTransactions() {
  const started: number[] = [];
  const begin = (units: readonly unknown[]) => {
    started.push(units.length);
    return new Promise<never>(() => {});
  };
  const attempt = await warmAttempts(begin, () => started.push(1));
  return { attempt: () => void attempt(), started };
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

test("the next transaction goes to the source whose transactions have taken the least time", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const open: { readonly source: string; readonly endMs: number; end(): void }[] = [];
  const attempt = await warmAttempts(
    (units) => {
      const source = units[0]?.members[0]?.source ?? "";
      const end = { kind: "completed", outcome: "handled", ranMs: 1 } as const;
      return new Promise((resolve) => {
        const endMs = now + (source === "slow" ? 40 : 4);
        open.push({ source, endMs, end: () => resolve(units.map(() => end)) });
      });
    },
    undefined,
    ["slow", "quick"],
  );
  for (let event = 0; event < 2_000; event += 1) {
    void attempt("slow");
    void attempt("quick");
  }
  const ended = { slow: 0, quick: 0 };
  for (let step = 0; step < 33; step += 1) {
    await turn();
    const next = open.toSorted((one, other) => one.endMs - other.endMs)[0];
    if (next === undefined) throw new Error("No transaction runs");
    open.splice(open.indexOf(next), 1);
    now = next.endMs;
    ended[next.source as keyof typeof ended] += 1;
    next.end();
    await turn();
  }
  expect(ended.quick / ended.slow).toBeGreaterThan(5);
});
