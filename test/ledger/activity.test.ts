import { beforeAll, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { complete, failForGood, openTestLedger, pastTriggers } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(openTestLedger);
/** When the minute began that the rows below were made in. */
let minute: number;
beforeAll(async () => {
  const [row] = await it.ask<{ at: Date }>("SELECT date_bin('1 minute', now(), 'epoch') AS at");
  minute = row?.at.getTime() ?? 0;
});

const minutesAgo = (minutes: number) => new Date(minute - minutes * 60_000).toISOString();
const bucket = async (at: string, source?: string) => {
  const buckets = await it.ledger.reads.activity({ source, minutes: 60 });
  return buckets.find((one) => one.at === at);
};

async function insert(
  rows: readonly {
    source: string;
    status: "completed" | "failed";
    from: string;
    ms: number;
    retried?: boolean;
    generation?: number;
  }[],
): Promise<void> {
  await pastTriggers(
    it,
    `INSERT INTO millrace.events (source, event_id, generation, type, status, outcome, attempts, attempts_at_retry,
       unsigned, body_hash, body_id, received_at, recorded_at, processed_at, last_error_code)
     VALUES ($1, $2, $7, 't', $3, CASE WHEN $3 = 'completed' THEN 'handled' END, 1, $6::int, false, 'h', 0,
       $4, $4, $4::timestamptz + $5 * interval '1 ms', CASE WHEN $3 = 'failed' THEN 'x' END)`,
    rows.map(({ source, status, from, ms, retried = false, generation = 0 }, index) => [
      ...[source, `old_${from}_${index}`, status, from, ms, retried ? 1 : 0, generation],
    ]),
  );
}

test("has every minute of an hour, oldest first, the one that is not over among them", async () => {
  const buckets = await it.ledger.reads.activity({ minutes: 60 });
  expect(buckets).toHaveLength(60);
  const first = Date.parse(buckets[0]?.at ?? "");
  expect(buckets.map(({ at }) => Date.parse(at))).toEqual(
    Array.from({ length: 60 }, (_, n) => first + n * 60_000),
  );
  expect(Date.parse(buckets[59]?.at ?? "")).toBeGreaterThanOrEqual(minute);
  expect(buckets[30]).toEqual({
    ...{ at: buckets[30]?.at, recorded: 0, completed: 0, failed: 0 },
    ...{ p50_ms: null, p95_ms: null, waited_p95_ms: null },
  });
});

test("counts an event when it is recorded and when it ends, and a retried one is no failure", async () => {
  const [good, bad, open] = ["good", "bad", "open"].map((eventId) =>
    anEvent({ source: "live", eventId }),
  );
  if (good === undefined || bad === undefined || open === undefined) throw new Error("no events");
  await it.ledger.intake.accept([good, bad, open]);
  await complete(it.ledger, good);
  await failForGood(it.ledger, bad);
  const total = async () => {
    const buckets = await it.ledger.reads.activity({ source: "live", minutes: 60 });
    const sum = (of: "recorded" | "completed" | "failed") =>
      buckets.reduce((count, one) => count + one[of], 0);
    return [sum("recorded"), sum("completed"), sum("failed")];
  };
  expect(await total()).toEqual([3, 1, 1]);
  await it.ledger.retries.retryMany([keyOf(bad)]);
  expect(await total()).toEqual([3, 1, 0]);
});

test("tells the latency of what ended in a minute, wherever it began", async () => {
  await insert([
    { source: "slow", status: "completed", from: minutesAgo(5), ms: 100 },
    { source: "slow", status: "completed", from: minutesAgo(5), ms: 200 },
    { source: "slow", status: "failed", from: minutesAgo(5), ms: 900 },
    { source: "slow", status: "failed", from: minutesAgo(2_000), ms: 1_996 * 60_000 },
  ]);
  expect(await bucket(minutesAgo(5), "slow")).toMatchObject({
    ...{ recorded: 3, completed: 2, failed: 1, p50_ms: 200, p95_ms: 830 },
  });
  expect(await bucket(minutesAgo(4), "slow")).toMatchObject({
    ...{ recorded: 0, completed: 0, failed: 1, p50_ms: 1_996 * 60_000 },
  });
});

test("tells the latency of what waited for a person apart", async () => {
  await insert([
    { source: "again", status: "completed", from: minutesAgo(9), ms: 100 },
    { source: "again", status: "completed", from: minutesAgo(29), ms: 20 * 60_000, retried: true },
    { source: "again", status: "completed", from: minutesAgo(29), ms: 20 * 60_000, generation: 1 },
  ]);
  expect(await bucket(minutesAgo(9), "again")).toMatchObject({
    ...{ completed: 3, p50_ms: 100, p95_ms: 100, waited_p95_ms: 20 * 60_000 },
  });
});

test("counts of all sources together what it counts of each, and of none that is not asked for", async () => {
  await insert(
    ["one", "two"].map((source) => ({
      ...{ source, status: "completed" as const, from: minutesAgo(7), ms: 10 },
    })),
  );
  expect(await bucket(minutesAgo(7))).toMatchObject({ recorded: 2, completed: 2 });
  expect(await bucket(minutesAgo(7), "one")).toMatchObject({ recorded: 1, completed: 1 });
  expect(await bucket(minutesAgo(7), "three")).toMatchObject({ recorded: 0, completed: 0 });
});

test("takes nothing from beyond its hour, and each event into one minute", async () => {
  const rows = Array.from({ length: 70 }, (_, ago) => ({
    ...{ source: "each", status: "completed" as const, from: minutesAgo(ago), ms: 0 },
  }));
  await insert(rows);
  const buckets = await it.ledger.reads.activity({ source: "each", minutes: 60 });
  const seen = buckets.filter(({ at }) => Date.parse(at) <= minute);
  expect(seen.length).toBeGreaterThan(50);
  for (const one of seen) expect(one).toMatchObject({ recorded: 1, completed: 1 });
});

test("reads some minutes of the past, up to the one that is named and without it", async () => {
  const some = await it.ledger.reads.activity({
    source: "each",
    minutes: 3,
    before: minutesAgo(10),
  });
  expect(some.map(({ at }) => at)).toEqual([13, 12, 11].map(minutesAgo));
  expect(some.map(({ recorded }) => recorded)).toEqual([1, 1, 1]);
});
