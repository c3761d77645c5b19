import { EVENT_STATUSES, isStorable, OUTCOMES } from "@millrace/core";
import { z } from "zod";

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
  /** An event id, or how it begins. */
  q: name(1_024).optional(),
  /** Recorded at this time or later. */
  since: time.optional(),
  /** Recorded before. */
  until: time.optional(),
});

/** How much of a list is asked for. */
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
export const eventQuery = eventFilter.extend(page);

export const activityQuery = eventFilter.pick({ source: true });

export const auditQuery = z.strictObject({
  source: name(256).optional(),
  event_id: name(1_024).optional(),
  ...page,
});

/** What a path that names an event takes besides: without it, the latest generation is meant. */
export const generationQuery = z.strictObject({
  generation: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .optional(),
});

/** Characters that a reason for the audit may have. */
export const REASON_LENGTH_MAX = 500;

/** Why something is done, for the audit. */
const reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_LENGTH_MAX)
  .refine(isStorable, "must not hold a NUL, or half a character");

/** What a write takes that needs to be told nothing else. */
export const reasonBody = z.strictObject({ reason: reason.optional() });

const bulk = {
  /** Events looked at, at most; the newest. */
  limit: z.int().min(1).max(1_000_000_000).optional(),
  /** Must be true where there is no filter. */
  all: z.boolean().optional(),
  /** Counts what would be done, and changes nothing. */
  dryRun: z.boolean().default(false),
  /** Why, for the audit. */
  reason: reason.optional(),
  /** Events a second, at most. */
  rate: z.number().min(0.01).max(1_000_000).optional(),
};

/** The status may be named, and can be no other. */
export const retryBody = eventFilter
  .omit({ outcome: true })
  .extend({ status: z.literal("failed", "only failed events are retried").optional(), ...bulk });

export const replayBody = eventFilter.extend(bulk);

export const signInBody = z.strictObject({
  user: z.string().min(1).max(256),
  password: z.string().min(1).max(1_024),
});
