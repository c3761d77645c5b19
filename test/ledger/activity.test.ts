import { countActivity } from "@millrace/ledger";
import { beforeEach, describe, expect, test } from "vitest";
import { useLedger } from "../support/ledger-fixture.ts";

const it = useLedger();

interface Row {
  readonly id?: string;
  readonly source?: string;
  readonly type?: string;
  readonly status?: "completed" | "failed";
  readonly from: string;
  readonly ms?: number;
  readonly retried?: boolean;
  readonly generation?: number;
}

async function insert(rows: readonly Row[]): Promise<void> {
  const all = rows.map((row, index) => ({
    ...{ id: `old_${row.from}_${index}`, source: "acme", type: "a", status: "completed", ms: 100 },
    ...{ retried: false, generation: 0, ...row },
  }));
  await it.pastTriggers(
    `INSERT INTO millrace.events (source, event_id, generation, type, status, outcome, attempts, attempts_at_retry,
       unsigned, body_hash, body_id, received_at, recorded_at, processed_at, last_error_code)
     VALUES ($1, $2, $7, $8, $3, CASE WHEN $3 = 'completed' THEN 'handled' END, 1, $6::int, false, 'h', 0,
       $4, $4, $4::timestamptz + $5 * interval '1 ms', CASE WHEN $3 = 'failed' THEN 'x' END)`,
    all.map(({ id, source, type, status, from, ms, retried, generation }) => [
      ...[source, id, status, from, ms, retried ? 1 : 0, generation, type],
    ]),
  );
}

describe("counted by a worker", () => {
  beforeEach(() =>
    it.pastTriggers(
      "TRUNCATE millrace.events, millrace.activity, millrace.activity_progress CASCADE",
    ),
  );
  const ago = (hours: number) => new Date(Date.now() - 1_000 - hours * 3_600_000).toISOString();

  const RANGES = {
    hour: { seconds: 60, count: 60 },
    day: { seconds: 600, count: 144 },
    week: { seconds: 3_600, count: 168 },
    month: { seconds: 14_400, count: 180 },
  };
  const read = (range: keyof typeof RANGES, of: { source?: string; type?: string } = {}) =>
    it.ledger.reads.activity({ ...of, ...RANGES[range] });
  async function sums(range: keyof typeof RANGES, of: { source?: string; type?: string } = {}) {
    const { buckets } = await read(range, of);
    const sum = (key: "recorded" | "completed" | "failed") =>
      buckets.reduce((total, one) => total + one[key], 0);
    return [sum("recorded"), sum("completed"), sum("failed")];
  }

  test("says that nothing is counted before a worker has counted", async () => {
    await insert([{ id: "one", from: ago(2) }]);
    expect(await read("day")).toEqual({ buckets: [], countedUntil: undefined });
  });

  test("counts a month that was there before, and each range has its share of it", async () => {
    await insert([
      { id: "now", from: ago(0) },
      { id: "hours", from: ago(5), status: "failed" },
      { id: "days", from: ago(72), type: "b" },
      { id: "weeks", from: ago(480) },
      { id: "months", from: ago(1_680) },
    ]);
    await countActivity(it.pool);
    expect(await sums("hour")).toEqual([1, 1, 0]);
    expect(await sums("day")).toEqual([2, 1, 1]);
    expect(await sums("week")).toEqual([3, 2, 1]);
    expect(await sums("month")).toEqual([4, 3, 1]);
    expect(await sums("week", { type: "b" })).toEqual([1, 1, 0]);
    expect(await sums("week", { source: "acme", type: "c" })).toEqual([0, 0, 0]);
    for (const range of ["hour", "day", "week", "month"] as const) {
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
    await insert([
      { id: "old", from: ago(2), status: "failed" },
      { id: "new", from: ago(1 / 60), status: "failed" },
    ]);
    await countActivity(it.pool);
    await countActivity(it.pool);
    expect(await sums("day")).toEqual([2, 0, 2]);
    expect(await sums("month")).toEqual([2, 0, 2]);
    await it.pastTriggers(
      "UPDATE millrace.events SET status = 'completed', outcome = 'handled', processed_at = now(), attempts_at_retry = 1",
    );
    await insert([{ id: "late", from: ago(2 / 60) }]);
    await Promise.all([countActivity(it.pool), countActivity(it.pool)]);
    expect(await sums("day")).toEqual([3, 3, 1]);
    expect(await sums("month")).toEqual([3, 3, 1]);
  });

  test("latencies are near what they are, and those that waited for somebody stand apart", async () => {
    await insert([
      ...Array.from({ length: 90 }, (_, n) => ({ id: `fast_${n}`, from: ago(2), ms: 100 })),
      ...Array.from({ length: 10 }, (_, n) => ({ id: `slow_${n}`, from: ago(2), ms: 3_000 })),
      { id: "again", from: ago(2), ms: 3_600_000, generation: 1 },
    ]);
    await countActivity(it.pool);
    const { buckets } = await read("week");
    const slow = buckets.find(({ p50_ms }) => p50_ms !== null);
    expect(slow?.p50_ms).toBeGreaterThan(64);
    expect(slow?.p50_ms).toBeLessThan(128);
    expect(slow?.p95_ms).toBeGreaterThan(2_048);
    expect(slow?.p95_ms).toBeLessThan(4_096);
    const waited = buckets.find(({ waited_p95_ms }) => waited_p95_ms !== null);
    expect(waited?.waited_p95_ms).toBeGreaterThan(2_500_000);
    expect(waited?.waited_p95_ms).toBeLessThan(5_100_000);
  });

  test("minutes older than a day and hours older than a month are deleted, but none that its hour needs", async () => {
    await insert([
      { id: "new", from: ago(1 / 6) },
      { id: "day", from: ago(30) },
      { id: "month", from: ago(720) },
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
});
