import { ACTIVITY_RANGES, type Activity, type ReadQueryOf } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import { diagnose, findFailingSources, stats } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { Queues } from "@millrace/queue";
import { EVENT_STATUSES, type Config } from "@millrace/core";
import { metricsOf } from "@millrace/service";
import type { Registry } from "prom-client";
import { cached } from "./cache.ts";
import { createHealthReader, REFUSED_MINUTES } from "./health.ts";

interface Deps {
  readonly ledger: Ledger;
  readonly queues: Queues;
  readonly config: Pick<Config, "sources" | "reconciler" | "retention">;
  readonly authenticatedOnly: readonly string[];
}

export type Overviews = ReturnType<typeof createOverviews>;

type ActivityQuery = ReadQueryOf<"get /activity">;

/** A twentieth of the time, at most, goes into each call. */
const TIMES_TAKEN = 20;
const EXAMPLES_MAX = 5;

/** Completed events are counted apart: a large ledger has many, so their number may be older. */
export function createOverviews(deps: Deps) {
  const { ledger, queues, config } = deps;
  const { sources, reconciler, retention } = config;
  const ofEach = (ttlMinMs: number) => ({ ttlMinMs, timesTaken: TIMES_TAKEN });
  const counts = {
    countUndone: cached(ofEach(1_000), () => ledger.reads.countUndone()),
    countCompleted: cached(ofEach(1_000), () => ledger.reads.countCompleted()),
    findRefusals: cached(ofEach(1_000), () => ledger.reads.findRefusals(REFUSED_MINUTES)),
  };
  const failing = cached(ofEach(1_000), () => findFailingSources({ ledger, sources }));
  const activity = cached(ofEach(5_000), async (key): Promise<Activity> => {
    const { range, ...of } = JSON.parse(key) as ActivityQuery;
    const { seconds, count } = ACTIVITY_RANGES[range];
    const { buckets, countedUntil } = await ledger.reads.activity({ ...of, seconds, count });
    return { bucket_seconds: seconds, buckets, counted_until: countedUntil ?? null };
  });
  const comparison = cached(ofEach(5_000), async () => {
    const checkedAt = new Date();
    await queues.ping();
    const diagnosis = await diagnose(
      { ledger, queues, isSound: (event) => checkJob({ event }) === undefined },
      {
        ...{ graceMs: reconciler.graceMs, keysDays: retention.keysDays },
        ...{ sources: [...queues.queues.keys()], examplesMax: EXAMPLES_MAX },
      },
    );
    return { checkedAt, diagnosis };
  });
  return {
    stats: cached({ ttlMinMs: 1_000, timesTaken: 0 }, () =>
      stats({ ledger: { reads: counts }, queues }),
    ),
    activity: (query: ActivityQuery) => activity(JSON.stringify(query)),
    comparison,
    failing,
    health: createHealthReader({ ...deps, comparison, failing }),
  };
}

const JOB_STATES = ["waiting", "active", "delayed", "completed", "failed", "removed"] as const;

interface MetricsDeps {
  readonly overviews: Pick<Overviews, "stats" | "failing">;
  readonly onError: (error: unknown) => void;
}

export function registerMetrics(registry: Registry, { overviews, onError }: MetricsDeps): void {
  const listOf = async <Item>(read: () => Promise<Iterable<Item>>): Promise<readonly Item[]> => {
    try {
      return [...(await read())];
    } catch (error) {
      // The other metrics are worth having when Postgres is away.
      onError(error);
      return [];
    }
  };
  const readSources = () => listOf(overviews.stats);
  const failingSources = async () => (await overviews.failing()).sources;
  const { scraped } = metricsOf(registry);
  scraped(
    "millrace_ledger_events",
    "Events in the ledger.",
    ["source", "status"],
    async (events) => {
      events.reset();
      for (const [source, of] of await readSources()) {
        for (const status of EVENT_STATUSES) events.set({ source, status }, of[status]);
      }
    },
  );
  scraped(
    "millrace_queue_jobs",
    "Jobs in a source's queue. Completed ones are kept for queue.keepCompletedMs.",
    ["source", "state"],
    async (jobs) => {
      jobs.reset();
      for (const [source, of] of await readSources()) {
        if (of.jobs === null) continue;
        for (const state of JOB_STATES) jobs.set({ source, state }, of.jobs[state]);
      }
    },
  );
  scraped(
    "millrace_source_failing",
    "1 while more events of a source fail than usual, in the last 10 minutes.",
    ["source"],
    async (gauge) => {
      gauge.reset();
      for (const [source] of await readSources()) gauge.set({ source }, 0);
      for (const { source } of await listOf(failingSources)) gauge.set({ source }, 1);
    },
  );
}
