import { z } from "zod";
import { eventRow } from "./events.ts";
import { count, instant, text, type Wire } from "./values.ts";

const BULK_VERBS = ["retry", "replay", "give_up"] as const;
export type BulkVerb = (typeof BULK_VERBS)[number];

const CANARY_STATES = ["due", "running", "passed"] as const;

/** `finished` and `failed` are final; a `stopped` run goes on when it is resumed. */
const BULK_STATES = ["running", "paused", "stopped", "finished", "failed"] as const;

/** Events beyond this number are not counted before a run: the answer says that there are more. */
export const COUNT_MAX = 100_000;
/** A run of more events than this needs their number. */
export const UNCONFIRMED_MAX = 1_000;
/** Events per second of a run that names no rate. */
export const RATE_DEFAULT = 50;

export const eventCount = z.strictObject({
  count: count(`Events that match, at most ${COUNT_MAX.toLocaleString("en-US")}.`),
  more: z.boolean().describe("True if more events match than were counted, or may match."),
});

export const skippedCounts = z
  .record(z.string(), z.int().min(1))
  .describe("Events that were left alone, by reason.");

const bulkRun = z.strictObject({
  id: count(),
  verb: z.enum(BULK_VERBS),
  filter: z.record(z.string(), z.unknown()).describe("The filter as it was asked for."),
  snapshot_at: instant("Events recorded later are not part of the run."),
  limit: count("The run ends after this many events, the newest.").nullable(),
  rate: z.number().describe("Events per second."),
  state: z.enum(BULK_STATES),
  canary: count("Events that run first.").nullable(),
  canary_state: z
    .enum(CANARY_STATES)
    .describe("The other events wait until it is `passed`; null without a canary.")
    .nullable(),
  failed_share_max: z
    .number()
    .describe("The run stops itself when more than this share fails again, 0 to 1.")
    .nullable(),
  total: count(
    "Events that matched at the start; null if they were more than can be counted.",
  ).nullable(),
  listed: count("Events the run has reached."),
  done: count("Events it has retried, replayed, or given up."),
  skipped: skippedCounts,
  error: text(
    "Why the run waits, has stopped itself, or has failed; null if nothing is wrong.",
  ).nullable(),
  started_by: text("The user, or the name of a program's token, if one is known.").nullable(),
  role: text(),
  via: text(),
  reason: text().nullable(),
  created_at: instant(),
  taken_at: instant("When a worker first acted on it; null until then.").nullable(),
  finished_at: instant().nullable(),
  results: z
    .strictObject({ completed: count(), failed: count(), pending: count() })
    .describe("What became of the events that ran again: none of a give-up."),
  errors: count("Different errors among the results that failed."),
  estimate_seconds: z
    .number()
    .describe("Seconds until the last event is reached at this rate; null if unknown, or held.")
    .nullable(),
});
/** A retry, replay, or give-up of many events, worked off by the leading worker. */
export type BulkRun = Wire<typeof bulkRun>;

export const startedRun = z.strictObject({ run: bulkRun });
export const bulkRuns = z.strictObject({ runs: z.array(bulkRun) });

const retriedEvent = eventRow
  .pick({ source: true, event_id: true, generation: true })
  .extend({ result: text("`retried`, or why it was left alone.") });
const counted = {
  skipped: skippedCounts,
  dryRun: z.literal(true),
  more_than: z.literal(COUNT_MAX).optional().describe("Present if more events match."),
};
const retriedNamed = z.strictObject({
  retried: count(),
  skipped: skippedCounts,
  dryRun: z.literal(false),
  events: z.array(retriedEvent).describe("Of a call that named its events: one each."),
});
export const retriedMany = z.union([
  startedRun,
  retriedNamed,
  z.strictObject({ retried: count(), ...counted }),
]);
export const givenUpMany = z.union([startedRun, z.strictObject({ given_up: count(), ...counted })]);
export const replayedMany = z.union([
  startedRun,
  z.strictObject({ replayed: count(), ...counted }),
]);
