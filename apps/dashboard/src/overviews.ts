import { ACTIVITY_RANGES, type Activity } from "@millrace/api-contract";
import { diagnose, stats } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import { createActivityReader, type ActivityOf } from "./activity-reader.ts";
import type { DashboardLedger, DashboardQueues } from "./ports.ts";
import { cached } from "./cache.ts";
import { createHealthReader } from "./health.ts";

interface Deps {
  readonly ledger: DashboardLedger;
  readonly queues: DashboardQueues;
}

/** Costly reads, whose results all callers share for a while. */
export type Overviews = ReturnType<typeof createOverviews>;

interface ActivityQuery extends ActivityOf {
  readonly range: keyof typeof ACTIVITY_RANGES;
}

/** As the reconciler has them; see the config. */
export interface CompareOptions {
  /** Milliseconds that an event is left alone after it became pending. */
  readonly graceMs: number;
  /** Days that a completed event is known. */
  readonly keysDays: number;
}

/** A twentieth of the time, at most, goes into each of these, however large the ledger is. */
const TIMES_TAKEN = 20;
const EXAMPLES_MAX = 5;

/**
 * Makes the readers of what costs much. Completed events are counted apart from the others: they
 * are nearly all, and their number is shared for long where the ledger is large, so that it may lag
 * behind the other two.
 */
export function createOverviews({ ledger, queues }: Deps, options: CompareOptions) {
  const ofEach = (ttlMinMs: number) => ({ ttlMinMs, timesTaken: TIMES_TAKEN });
  const counts = {
    countUndone: cached(ofEach(1_000), () => ledger.reads.countUndone()),
    countCompleted: cached(ofEach(1_000), () => ledger.reads.countCompleted()),
  };
  const readHour = createActivityReader(ledger.reads);
  const activity = cached(ofEach(5_000), async (key): Promise<Activity> => {
    const { range, ...of } = JSON.parse(key) as ActivityQuery;
    const { seconds, count } = ACTIVITY_RANGES[range];
    // Minutes of the last hour are counted from the events themselves, to the moment.
    if (range === "1h") {
      const buckets = await readHour(of);
      return { bucket_seconds: seconds, buckets, counted_until: new Date().toISOString() };
    }
    const { buckets, countedUntil } = await ledger.reads.countedActivity({ ...of, seconds, count });
    return { bucket_seconds: seconds, buckets, counted_until: countedUntil ?? null };
  });
  const comparison = cached(ofEach(5_000), async () => {
    const checkedAt = new Date();
    await queues.ping();
    const diagnosis = await diagnose(
      { ledger, queues, isSound: (event) => checkJob({ event }) === undefined },
      { ...options, sources: [...queues.queues.keys()], examplesMax: EXAMPLES_MAX },
    );
    return { checkedAt, diagnosis };
  });
  return {
    stats: cached({ ttlMinMs: 1_000, timesTaken: 0 }, () =>
      stats({ ledger: { reads: counts }, queues }),
    ),
    activity: (query: ActivityQuery) => activity(JSON.stringify(query)),
    comparison,
    health: createHealthReader({ ledger, queues, comparison }),
  };
}
