import { countActivity } from "@millrace/ledger";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { openTestLedger, pastTriggers } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(openTestLedger);
beforeAll(async () => {});
const TABLES = "millrace.events, millrace.activity, millrace.activity_progress";
beforeEach(() => pastTriggers(it, `TRUNCATE ${TABLES} CASCADE`));

interface Row {
  readonly id: string;
  /** How long ago it was recorded. */
  readonly ago: string;
  readonly ms?: number;
  readonly status?: "completed" | "failed";
  readonly type?: string;
  readonly generation?: number;
}

async function write(rows: readonly Row[]): Promise<void> {
  await pastTriggers(
    it,
    `INSERT INTO millrace.events (source, event_id, generation, type, status, outcome, attempts, unsigned, body_hash,
       body_id, received_at, recorded_at, processed_at, last_error_code)
     VALUES ('acme', $1, $6, $5, $4, CASE WHEN $4 = 'completed' THEN 'handled' END, 1, false, 'h', 0, now(),
       now() - $2::interval, now() - $2::interval + $3 * interval '1 ms', CASE WHEN $4 = 'failed' THEN 'x' END)`,
    rows.map(({ id, ago, ms = 100, status = "completed", type = "a", generation = 0 }) => [
      ...[id, ago, ms, status, type, generation],
    ]),
  );
}

const RANGES = {
  day: { seconds: 600, count: 144 },
  week: { seconds: 3_600, count: 168 },
  month: { seconds: 14_400, count: 180 },
};
const read = (range: keyof typeof RANGES, of: { source?: string; type?: string } = {}) =>
  it.ledger.reads.countedActivity({ ...of, ...RANGES[range] });
async function sums(range: keyof typeof RANGES, of: { source?: string; type?: string } = {}) {
  const { buckets } = await read(range, of);
  const sum = (key: "recorded" | "completed" | "failed") =>
    buckets.reduce((total, bucket) => total + bucket[key], 0);
  return [sum("recorded"), sum("completed"), sum("failed")];
}

test("says that nothing is counted before a worker has counted", async () => {
  await write([{ id: "one", ago: "2 hours" }]);
  expect(await read("day")).toEqual({ buckets: [], countedUntil: undefined });
});

test("counts a month that was there before, and each range has its share of it", async () => {
  await write([
    { id: "now", ago: "1 second" },
    { id: "hours", ago: "5 hours", status: "failed" },
    { id: "days", ago: "3 days", type: "b" },
    { id: "weeks", ago: "20 days" },
    { id: "months", ago: "70 days" },
  ]);
  await countActivity(it.pool);
  expect(await sums("day")).toEqual([2, 1, 1]);
  expect(await sums("week")).toEqual([3, 2, 1]);
  expect(await sums("month")).toEqual([4, 3, 1]);
  expect(await sums("week", { type: "b" })).toEqual([1, 1, 0]);
  expect(await sums("week", { source: "acme", type: "c" })).toEqual([0, 0, 0]);
  for (const range of ["day", "week", "month"] as const) {
    const { buckets, countedUntil } = await read(range);
    const { seconds, count } = RANGES[range];
    expect(buckets).toHaveLength(count);
    const first = Date.parse(buckets[0]?.at ?? "");
    expect(buckets.map(({ at }) => (Date.parse(at) - first) / 1_000)).toEqual(
      Array.from({ length: count }, (_, index) => index * seconds),
    );
    expect(Date.parse(countedUntil ?? "")).toBeGreaterThan(Date.now() - 60_000);
  }
});

test("counting again counts nothing twice, takes in what is new, and keeps failures that were retried later", async () => {
  await write([
    { id: "old", ago: "2 hours", status: "failed" },
    { id: "new", ago: "1 minute", status: "failed" },
  ]);
  await countActivity(it.pool);
  await countActivity(it.pool);
  expect(await sums("day")).toEqual([2, 0, 2]);
  expect(await sums("month")).toEqual([2, 0, 2]);
  // Both are retried, and a further one was committed late.
  await pastTriggers(
    it,
    "UPDATE millrace.events SET status = 'completed', outcome = 'handled', processed_at = now(), attempts_at_retry = 1",
  );
  await write([{ id: "late", ago: "2 minutes" }]);
  await Promise.all([countActivity(it.pool), countActivity(it.pool)]);
  expect(await sums("day")).toEqual([3, 3, 1]);
  expect(await sums("month")).toEqual([3, 3, 1]);
});

test("latencies are near what they are, and those that waited for somebody stand apart", async () => {
  await write([
    ...Array.from({ length: 90 }, (_, n) => ({ id: `fast_${n}`, ago: "2 hours", ms: 100 })),
    ...Array.from({ length: 10 }, (_, n) => ({ id: `slow_${n}`, ago: "2 hours", ms: 3_000 })),
    { id: "again", ago: "2 hours", ms: 3_600_000, generation: 1 },
  ]);
  await countActivity(it.pool);
  const { buckets } = await read("week");
  const bucket = buckets.find(({ p50_ms }) => p50_ms !== null);
  expect(bucket?.p50_ms).toBeGreaterThan(64);
  expect(bucket?.p50_ms).toBeLessThan(128);
  expect(bucket?.p95_ms).toBeGreaterThan(2_048);
  expect(bucket?.p95_ms).toBeLessThan(4_096);
  const waited = buckets.find(({ waited_p95_ms }) => waited_p95_ms !== null);
  expect(waited?.waited_p95_ms).toBeGreaterThan(2_500_000);
  expect(waited?.waited_p95_ms).toBeLessThan(5_100_000);
});

test("minutes older than a day and hours older than a month are deleted, but none that its hour needs", async () => {
  await write([
    { id: "new", ago: "10 minutes" },
    { id: "day", ago: "30 hours" },
    { id: "month", ago: "30 days" },
  ]);
  await countActivity(it.pool);
  const kept = () =>
    it.ask<{ seconds: number; n: number }>(
      "SELECT seconds, count(DISTINCT at)::int AS n FROM millrace.activity WHERE kind = 'recorded' GROUP BY 1 ORDER BY 1",
    );
  expect(await kept()).toEqual([
    { seconds: 60, n: 1 },
    { seconds: 3_600, n: 3 },
  ]);
  // As if no worker had counted for three days, and then two of them at once.
  await it.ask("UPDATE millrace.activity SET at = at - interval '3 days'");
  await it.ask(
    "UPDATE millrace.activity_progress SET counted_until = counted_until - interval '3 days'",
  );
  await countActivity(it.pool);
  expect(await kept()).toMatchObject([{ seconds: 60, n: 1 }, { seconds: 3_600 }]);
});
