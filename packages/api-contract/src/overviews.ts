import { z } from "zod";
import { count, instant, text, type Wire } from "./values.ts";

const jobCounts = z.strictObject({
  waiting: count(),
  active: count(),
  delayed: count(),
  completed: count("Kept for `queue.keepCompletedMs`."),
  failed: count(),
  removed: count("About how many tools other than Millrace have removed from a queue on Redis."),
  paused: z.boolean(),
});

const sourceStats = z.strictObject({
  pending: count(),
  completed: count("Counted less often than the others where there are many."),
  failed: count(),
  queued: count("Jobs that wait, run or are delayed.").nullable(),
  jobs: jobCounts.nullable().describe("Null when the queue cannot be asked."),
  refused: z
    .array(
      z.strictObject({
        reason: text("An error code, or why a signature failed."),
        deliveries: count(),
      }),
    )
    .describe("Deliveries of the last 5 minutes, the most first."),
});
export type SourceStats = Wire<typeof sourceStats>;

export const stats = z.strictObject({
  sources: z.record(z.string(), sourceStats),
});

const latency = (about: string) => z.number().nullable().describe(about);

const activityBucket = z.strictObject({
  at: instant("When it began."),
  recorded: count(),
  completed: count(),
  failed: count("Failed, and not retried before it was counted."),
  p50_ms: latency(
    "Half of what ended took no longer, from the record to the end. Without what somebody had run again.",
  ),
  p95_ms: latency("19 of 20 took no longer."),
  waited_p95_ms: latency(
    "The same of events that somebody retried or replayed: they waited for that.",
  ),
});
export type ActivityBucket = Wire<typeof activityBucket>;

export const activity = z.strictObject({
  bucket_seconds: z.int().describe("60, 600, 3,600 or 14,400: for 1h, 24h, 7d, and 30d."),
  buckets: z
    .array(activityBucket)
    .describe("Oldest first, up to `counted_until`. Latencies are off by a fifth at most."),
  counted_until: instant(
    "Until when events are counted: the leading worker counts them every minute. Null while none are.",
  ).nullable(),
});
export type Activity = Wire<typeof activity>;

/** The kinds of disagreement of ledger and queue; operations knows the repair of each. */
export const DISAGREEMENT_KINDS = [
  "pending_without_job",
  "pending_job_failed",
  "pending_retry_unfinished",
  "pending_job_completed",
  "failed_job_completed",
  "completed_job_failed",
  "unrecorded_job_failed",
  "unrecorded_job_undone",
  "unrecorded_job_completed",
  "unrecorded_job_unsigned",
  "unreadable_job",
] as const;
export type DisagreementKind = (typeof DISAGREEMENT_KINDS)[number];

const disagreement = z.strictObject({
  kind: z.enum(DISAGREEMENT_KINDS),
  count: count(),
  meaning: text(),
  fix: text("What a worker will do about it."),
  examples: z.array(
    z.strictObject({
      source: text(),
      event_id: text("Null for a job whose event is not known.").nullable(),
      generation: count().nullable(),
      job_id: text("Of a job that cannot be read; null for an event.").nullable(),
      detail: text("Why its job failed or cannot be read.").nullable(),
    }),
  ),
});
export type Disagreement = Wire<typeof disagreement>;

export const disagreements = z.strictObject({
  checked_at: instant(),
  pending_checked: count("Pending events that were compared."),
  not_compared: z.array(text()).describe("Sources whose queue cannot be asked."),
  kinds: z.array(disagreement),
});

const healthItem = z.strictObject({
  id: z.enum([
    "failing",
    "errors",
    "alerts",
    "redis",
    "postgres",
    "event_store",
    "leader",
    "disagreements",
    "oldest_waiting",
    "paused",
    "open_runs",
    "refused",
    "signatures",
    "silent",
    "ids",
    "copies",
    "sizes",
    "signing",
  ]),
  level: z
    .enum(["ok", "warn", "bad", "unknown"])
    .describe("`unknown` where it was not found out in time; never good or bad news."),
  text: text("One line for people."),
  detail: text("More, such as the reason of a failure; null where there is none.").nullable(),
});
export type HealthItem = Wire<typeof healthItem>;

export const health = z.strictObject({
  checked_at: instant(),
  items: z.array(healthItem),
  recent_events: count(
    "Events that ended, or failed an attempt, in the last 10 minutes. One that was retried counts at each end.",
  ).nullable(),
  recent_failed: count("Of them, those that failed, or failed an attempt and wait.").nullable(),
  open_errors: count("Groups of equal errors that are open, at most 100.").nullable(),
  open_runs: count("Bulk runs that have not ended, at most 10.").nullable(),
  oldest_waiting_ms: z
    .number()
    .nullable()
    .describe("For how long the oldest event waits for its first attempt; 0 while none does."),
});
export type Health = Wire<typeof health>;
