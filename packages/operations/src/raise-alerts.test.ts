import type { Alert } from "@millrace/core";
import { expect, test } from "vitest";
import { raiseAlerts } from "./raise-alerts.ts";

const MINUTE_MS = 60_000;
const none = async () => [];

interface Given {
  readonly errors?: number;
  /** Errors that wait for the next alert of many. */
  readonly waiting?: number;
  readonly alerted?: number;
  readonly gatheredLately?: boolean;
  /** Of each source: the minutes that its oldest event waits. */
  readonly waits?: Readonly<Record<string, number>>;
  readonly paused?: string;
  /** The results of a run that ended. */
  readonly runOf?: () => Promise<unknown>;
  /** Of the newest job of a source that refused all of its deliveries from 60 ms on. */
  readonly newestMs?: number;
}

const ENDED = { id: 7, verb: "retry", state: "finished", done: 900, error: null };

function toError(n: number) {
  const fingerprint = `1-${n}00000000000000`;
  const at = new Date().toISOString();
  const isBack = n === 2;
  return { fingerprint, title: `No ${n}`, isBack, at, attempts: n, sources: ["shop"], line: "a:1" };
}

async function raised({
  errors = 0,
  waiting = 0,
  alerted = 0,
  gatheredLately = false,
  ...queue
}: Given) {
  const { waits = {}, paused, runOf, newestMs = 0 } = queue;
  const runs = runOf === undefined ? [] : [{ ...ENDED, finishedAt: "2026-11-28T10:00:00Z" }];
  const alerts: (Alert & { readonly id: string })[] = [];
  const found = {
    ...{ alerted, gatheredLately, runs },
    errors: Array.from({ length: errors }, (_, index) => toError(index + 1)),
    opened: errors + waiting,
  };
  const sources = Object.keys(waits);
  const deps = {
    ledger: {
      reads: {
        ...{ findSilent: none, findFailedShares: none },
        findRefusedSources: async () =>
          newestMs === 0 ? [] : [{ source: "shop", code: "expired", deliveries: 25, sinceMs: 60 }],
        findIncidents: async () => found,
      },
      repair: {
        emitAlerts: async (events: readonly { eventId: string; body: Uint8Array }[]) => {
          for (const { eventId, body } of events) {
            const id = eventId.slice(0, eventId.lastIndexOf("|"));
            alerts.push({ ...JSON.parse(Buffer.from(body).toString()), id });
          }
        },
      },
      bulkRuns: { get: runOf },
    },
    queues: {
      queues: new Map(sources.map((source) => [source, {}])),
      ping: async () => {},
      waitingJobs: async () => ({ count: 1, jobs: [{ enqueuedAtMs: newestMs }] }),
      measurePressure: async () => ({
        of: (source: string) => ({ depth: 0, oldestAgeMs: (waits[source] ?? 0) * MINUTE_MS }),
      }),
      counts: async () =>
        new Map(sources.map((source) => [source, { waiting: 70_000, paused: source === paused }])),
    },
    ...{ sources: {}, dashboardUrl: "https://ops.test/", disagreements: new Map() },
  };
  await raiseAlerts(deps as never);
  return alerts;
}

test("an error that comes alone behind ten others has its own alert, and the next one waits", async () => {
  const alerts = await raised({ errors: 1, alerted: 10 });
  expect(alerts).toEqual([
    {
      id: "errors.opened|1-100000000000000",
      kind: "error.opened",
      key: "1-100000000000000",
      title: "New error in shop: No 1",
      details: ["At a:1", "1 failed attempt so far"],
      url: "https://ops.test/errors/1-100000000000000",
    },
  ]);
  expect(await raised({ errors: 1, alerted: 10, gatheredLately: true })).toEqual([]);
});

test("errors in one alert each have their count and link", async () => {
  const [alert, ...others] = await raised({ errors: 2, waiting: 3, alerted: 10 });
  expect(others).toEqual([]);
  expect(alert).toMatchObject({
    kind: "errors.opened",
    title: "2 more errors, and 3 that wait. New error in shop: No 1",
    details: [
      "New error in shop: No 1. At a:1. 1 failed attempt so far. https://ops.test/errors/1-100000000000000",
      "Error came back in shop: No 2. At a:1. 2 failed attempts so far. https://ops.test/errors/1-200000000000000",
    ],
  });
});

test("a source whose oldest event waits for too long is one alert, unless it is paused", async () => {
  const waits = { shop: 10, bank: 4, cold: 10, millrace: 10 };
  expect(await raised({ waits, paused: "cold" })).toEqual([
    {
      id: "source.behind|shop",
      kind: "source.behind",
      key: "shop",
      title: "Events had no attempt yet: shop (70,000 waiting, the oldest for 10 min)",
      details: ["Add workers, or look at their log"],
      url: "https://ops.test/events?status=pending&source=shop",
    },
  ]);
});

test("a source that refused all of its last deliveries is one alert, unless a job that waits is newer", async () => {
  expect(await raised({ newestMs: 60 })).toEqual([]);
  expect(await raised({ newestMs: 59 })).toMatchObject([
    { kind: "source.refused", key: "shop", details: ["25 expired"] },
  ]);
});

test("a run that ended is reported by its results", async () => {
  const results = { completed: 12, failed: 888, pending: 0 };
  const runOf = async () => ({ verb: "retry", done: 900, results, errors: 1 });
  expect(await raised({ runOf })).toMatchObject([
    { title: "Bulk run 7 (retry) finished. 900 ran: 12 completed, 888 failed again (1 error)" },
  ]);
});

test("a run whose results cannot be counted in time is reported without them", async () => {
  const runOf = () => Promise.reject(new Error("it took too long"));
  expect(await raised({ runOf })).toMatchObject([
    { title: "Bulk run 7 (retry) finished. 900 done" },
  ]);
});
