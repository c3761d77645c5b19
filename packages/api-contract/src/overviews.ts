import { z } from "zod";
import { count, instant, text, type Wire } from "./values.ts";

const jobCounts = z.strictObject({
  waiting: count(),
  active: count(),
  delayed: count(),
  completed: count("Kept for ten minutes."),
  failed: count(),
  paused: z.boolean(),
});

const sourceStats = z.strictObject({
  pending: count(),
  completed: count("Counted less often than the others where there are many."),
  failed: count(),
  queued: count("Jobs that wait, run or are delayed.").nullable(),
  jobs: jobCounts.nullable().describe("Null when the queue does not answer."),
});
/** A source in numbers; without its queue's where that does not answer or is not configured. */
export type SourceStats = Wire<typeof sourceStats>;

export const stats = z.strictObject({ sources: z.record(z.string(), sourceStats) });
export type Stats = Wire<typeof stats>;

const latency = (about: string) => z.number().nullable().describe(about);

const activityBucket = z.strictObject({
  at: instant("When the minute began."),
  recorded: count(),
  completed: count(),
  failed: count("Failed, and not retried before it was counted."),
  p50_ms: latency("Half of what ended took no longer, from the record to the end."),
  p95_ms: latency("19 of 20 took no longer."),
});
/** What happened within one minute. */
export type ActivityBucket = Wire<typeof activityBucket>;

export const activity = z.strictObject({
  bucket_seconds: z.literal(60),
  buckets: z.array(activityBucket).length(60).describe("The last hour, oldest first."),
});
export type Activity = Wire<typeof activity>;

/** What ledger and queue can disagree on; operations tells what is done about each. */
const DISAGREEMENT_KINDS = [
  "pending_without_job",
  "pending_job_failed",
  "pending_retry_unfinished",
  "pending_job_completed",
  "unrecorded_job_failed",
  "unrecorded_job_completed",
] as const;
export type DisagreementKind = (typeof DISAGREEMENT_KINDS)[number];

const disagreement = z.strictObject({
  kind: z.enum(DISAGREEMENT_KINDS),
  count: count(),
  meaning: text(),
  mend: text("What a worker will do about it."),
  examples: z.array(z.strictObject({ source: text(), event_id: text(), generation: count() })),
});
/** How many events of one kind there are, and some of them. */
export type Disagreement = Wire<typeof disagreement>;

export const disagreements = z.strictObject({
  checked_at: instant(),
  pending_checked: count("Pending events that were compared."),
  kinds: z.array(disagreement),
});
export type Disagreements = Wire<typeof disagreements>;
