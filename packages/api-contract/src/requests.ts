import { EVENT_STATUSES, isStorable, OUTCOMES } from "@millrace/core";
import { z } from "zod";
import { COUNT_MAX } from "./bulk-runs.ts";
import { ERROR_STATES } from "./error-groups.ts";

const name = (bytesMax: number) =>
  z
    .string()
    .min(1)
    .refine((value) => bytesOf(value) <= bytesMax, `must be at most ${bytesMax} bytes`)
    .refine((value) => !value.includes("\0"), "must not hold a NUL");

const bytesOf = (value: string): number => new TextEncoder().encode(value).length;

const time = z.iso
  .datetime({ offset: true, error: "must be a time such as 2026-01-31T12:00:00Z" })
  .transform((value) => new Date(value))
  // Older ones Postgres writes in a way of its own.
  .refine((date) => date.getTime() >= 0, "must not be before 1970");

/** Which events: what is left out does not matter. */
const eventFilter = z.strictObject({
  source: name(40).optional(),
  type: name(256).optional(),
  status: z.enum(EVENT_STATUSES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  /** The fingerprint of an error: events whose last error it is. */
  error: name(64).optional(),
  /** An event id, or how it begins. */
  q: name(1_024).optional(),
  /** Recorded at this time or later. */
  since: time.optional(),
  /** Recorded before. */
  until: time.optional(),
});

/** The page of a list. */
const page = {
  /** Rows a page. */
  limit: z
    .string()
    .regex(/^\d{1,3}$/, "must be 1 to 200")
    .transform(Number)
    .refine((value) => value >= 1 && value <= 200, "must be 1 to 200")
    .default(50),
  /** `next` of the page before. */
  cursor: name(2_048).optional(),
};

/** A query holds every key once; one that it does not know is a problem. */
export const eventQuery = eventFilter.extend({
  ...page,
  /**
   * By the time of their record: newest first, or oldest first. A cursor goes on in the order of
   * its own page.
   */
  order: z.enum(["desc", "asc"]).optional(),
});

/** Counts the events of a filter. */
export const eventCountQuery = eventFilter.extend({
  /** Events that are counted at most. */
  max: z
    .string()
    .regex(/^\d{1,6}$/, `must be 1 to ${COUNT_MAX}`)
    .transform(Number)
    .refine((value) => value >= 1 && value <= COUNT_MAX, `must be 1 to ${COUNT_MAX}`)
    .default(COUNT_MAX),
});

/** A stretch of time up to now: buckets of so many seconds, so many of them. */
export const ACTIVITY_RANGES = {
  "1h": { seconds: 60, count: 60 },
  "24h": { seconds: 600, count: 144 },
  "7d": { seconds: 3_600, count: 168 },
  "30d": { seconds: 14_400, count: 180 },
} as const;

export const activityQuery = z.strictObject({
  ...eventFilter.pick({ source: true, type: true }).shape,
  range: z
    .enum(["1h", "24h", "7d", "30d"] satisfies (keyof typeof ACTIVITY_RANGES)[])
    .default("1h"),
});

export const errorQuery = z.strictObject({
  state: z.enum(ERROR_STATES).optional(),
  ...eventFilter.pick({ source: true, type: true }).shape,
  /** Part of the title. */
  q: name(256).optional(),
  limit: page.limit,
  offset: z
    .string()
    .regex(/^\d{1,6}$/, "must be 0 to 999999")
    .transform(Number)
    .default(0),
});

export const auditQuery = z.strictObject({
  source: name(256).optional(),
  event_id: name(1_024).optional(),
  ...page,
});

const number = z
  .string()
  .regex(/^\d{1,9}$/, "must be a whole number")
  .transform(Number)
  .optional();

/** The query of a path that names an event: without it, the latest generation is meant. */
export const generationQuery = z.strictObject({ generation: number });

/** `body=false` leaves the body out, for those who ask again and again. */
export const detailQuery = generationQuery.extend({
  body: z.literal(["true", "false"]).optional(),
});

/** Which bytes of a body: without them all are meant. What lies behind its end is left out. */
export const bodyQuery = generationQuery.extend({ offset: number, length: number });

/** Characters that a reason for the audit may have. */
export const REASON_LENGTH_MAX = 500;

/** The reason of an action, for the audit. */
const reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_LENGTH_MAX)
  .refine(isStorable, "must not hold a NUL, or half a character");

/** The body of a write that takes nothing else. */
export const reasonBody = z.strictObject({ reason: reason.optional() });

export const errorStateBody = z.strictObject({
  state: z.enum(ERROR_STATES),
  /** For the next reader of the error. */
  note: reason.optional(),
  /** The reason, for the audit. */
  reason: reason.optional(),
});

/** Events per second, at most. */
const rate = z.number().min(0.01).max(1_000_000);

const bulk = {
  /** Events looked at, at most; the newest. */
  limit: z.int().min(1).max(1_000_000_000).optional(),
  /** Must be true where there is no filter. */
  all: z.boolean().optional(),
  /** The number of matching events: required without a filter and above 1,000; at most 100000. */
  expected: z.int().min(0).max(1_000_000_000).optional(),
  /** Counts what would be done, and changes nothing. */
  dryRun: z.boolean().default(false),
  /** The reason, for the audit. */
  reason: reason.optional(),
  rate: rate.optional(),
};

/** Events that are named in one call. */
const NAMED_MAX = 500;

const named = z
  .array(
    z.strictObject({
      source: name(40),
      event_id: name(1_024),
      generation: z.int().min(0).max(999_999_999),
    }),
  )
  .min(1)
  .max(NAMED_MAX);

/** Keys of a retry that go with a list of events too. */
const WITH_NAMES: ReadonlySet<string> = new Set(["events", "reason", "dryRun"]);
export const runsQuery = z.strictObject({ limit: page.limit });

/** A change of a bulk run. */
export const runBody = z.strictObject({
  state: z.enum(["running", "paused", "stopped"]).optional(),
  rate: rate.optional(),
  reason: reason.optional(),
});

/** The status may be named, and can be no other. */
export const retryBody = eventFilter
  .omit({ outcome: true })
  .extend({
    status: z.literal("failed", "only failed events are retried").optional(),
    ...bulk,
    /** These events and no others, instead of a filter: all at once, and one answer each. */
    events: named.optional(),
  })
  .refine(
    (body) => body.events === undefined || Object.keys(body).every((key) => WITH_NAMES.has(key)),
    { path: ["events"], error: "go with `reason` alone: give no filter, limit, or rate" },
  )
  .refine((body) => body.events === undefined || !body.dryRun, {
    path: ["dryRun"],
    error: "is for a filter",
  });

export const replayBody = eventFilter.extend(bulk);

/** The status may be named, and can be no other. */
export const giveUpBody = eventFilter.omit({ outcome: true }).extend({
  status: z.literal("pending", "only pending events are given up").optional(),
  ...bulk,
});

export const signInBody = z.strictObject({
  user: z.string().min(1).max(256),
  password: z.string().min(1).max(1_024),
});
