import { EVENT_STATUSES, isStorable, MillraceError, OUTCOMES, TENANT } from "@millrace/core";
import { z } from "zod";
import { COUNT_MAX } from "./bulk-runs.ts";
import { ERROR_ORDERS, ERROR_STATES } from "./error-groups.ts";

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

const eventFilter = z.strictObject({
  source: name(40).optional(),
  tenant: z.string().regex(TENANT, `must match ${TENANT.source}`).optional(),
  type: name(256).optional(),
  status: z.enum(EVENT_STATUSES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  /** The fingerprint of an error: events whose last error it is. */
  error: name(64).optional(),
  /** The beginning of an event id. */
  q: name(1_024).optional(),
  /** The id of a bulk run: events that it retried or replayed. */
  run: z
    .string()
    .regex(/^\d{1,12}$/, "must be the id of a run")
    .optional(),
  since: time.optional(),
  until: time.optional(),
  /** A search: `source:stripe customer:cus_1 evt_12`. */
  find: name(1_024).optional(),
});

/** Keys of a search that are filters. */
export const searchFilter = eventFilter.omit({ q: true, find: true });

/** A number of a query, which has as many digits as `max` at most. */
const within = (min: number, max: number) =>
  z
    .string()
    .regex(new RegExp(`^\\d{1,${String(max).length}}$`), `must be ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be ${min} to ${max}`);

const page = {
  limit: within(1, 200).default(50),
  /** `next` of the page before. */
  cursor: name(2_048).optional(),
};

export const eventQuery = eventFilter.extend({
  ...page,
  /** By the time of their record. A cursor continues in the order of its own page. */
  order: z.enum(["desc", "asc"]).optional(),
});

export const eventCountQuery = eventFilter.extend({
  max: within(1, COUNT_MAX).default(COUNT_MAX),
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
  q: name(256).optional(),
  sort: z.enum(ERROR_ORDERS).default("last"),
  limit: page.limit,
  offset: within(0, 999_999).default(0),
});

export const auditQuery = z.strictObject({
  source: name(256).optional(),
  event_id: name(1_024).optional(),
  action: name(64).optional(),
  actor: name(1_024).optional(),
  /** A search: `action:retry since:7d carrier`. */
  find: name(1_024).optional(),
  ...page,
});

const number = z
  .string()
  .regex(/^\d{1,9}$/, "must be a whole number")
  .transform(Number)
  .optional();

/** `event_id` takes precedence over the id of the path, where clients remove `.` and `..`. */
export const generationQuery = z.strictObject({
  generation: number,
  event_id: name(1_024).optional(),
});

/** `body=false` leaves the body out, for those who ask again and again. */
export const detailQuery = generationQuery.extend({
  body: z.literal(["true", "false"]).optional(),
});

/** A range of a body. Default: all of it. */
export const bodyQuery = generationQuery.extend({
  offset: number,
  length: number,
  /** Of a conflict. Default: the event's own body. */
  body_hash: name(64).optional(),
});

export const replayQuery = generationQuery.extend(bodyQuery.pick({ body_hash: true }).shape);

/** Characters that a reason for the audit may have. */
export const REASON_LENGTH_MAX = 500;

const reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_LENGTH_MAX)
  .refine(isStorable, "must not hold a NUL, or half a character");

export const reasonBody = z.strictObject({ reason: reason.optional() });

export const editBody = z.strictObject({
  /** Text. Other bytes cannot be edited. */
  body: z.string(),
  /** Default: the type of the event that is edited. */
  type: name(256).refine(isStorable, "must not hold half a character").optional(),
  reason: reason.optional(),
});

export const errorBody = z
  .strictObject({
    state: z.enum(ERROR_STATES).optional(),
    note: reason.optional(),
    /** True: the caller is on it. False: nobody is. */
    mine: z.boolean().optional(),
    reason: reason.optional(),
  })
  .refine(({ state, mine }) => (state === undefined) !== (mine === undefined), {
    error: "needs either a state or `mine`",
  });

const rate = z.number().min(0.01).max(1_000_000);

const bulk = {
  limit: z.int().min(1).max(1_000_000_000).optional(),
  /** Must be true where there is no filter. */
  all: z.boolean().optional(),
  /** The number of matching events: within a tenth; required without a filter and above 1,000. */
  expected: z.int().min(0).max(1_000_000_000).optional(),
  dryRun: z.boolean().default(false),
  reason: reason.optional(),
  rate: rate.optional(),
};

const trial = {
  /** Run this many events first, and the others once all of these are completed. */
  canary: z.int().min(1).max(1_000).optional(),
  /** Stop the run when more than this share of its events fails again. */
  failed_share_max: z.number().min(0).max(1).optional(),
};

const named = z
  .array(
    z.strictObject({
      source: name(40),
      event_id: name(1_024),
      generation: z.int().min(0).max(999_999_999),
    }),
  )
  .min(1)
  .max(500);

/** Keys of a retry that go with a list of events too. */
const WITH_NAMES: ReadonlySet<string> = new Set(["events", "reason", "dryRun"]);

export const runsQuery = auditQuery.pick({ find: true, limit: true });

export const runBody = z.strictObject({
  state: z.enum(["running", "paused", "stopped"]).optional(),
  rate: rate.optional(),
  reason: reason.optional(),
});

export const retryBody = eventFilter
  .omit({ outcome: true })
  .extend({
    /** Default: failed. Pending: those that wait for their next attempt, which runs now. */
    status: z.literal(["failed", "pending"], "must be failed or pending").optional(),
    ...bulk,
    ...trial,
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

export const replayBody = eventFilter.extend({ ...bulk, ...trial });

export const giveUpBody = eventFilter.omit({ outcome: true }).extend({
  status: z.literal("pending", "only pending events are given up").optional(),
  ...bulk,
});

export const signInBody = z.strictObject({
  user: z.string().min(1).max(256),
  password: z.string().min(1).max(1_024),
});

/** @throws `invalid_request` with every problem and its key */
export function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
): z.output<Schema> {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join(".") || "request"}: ${message}`,
  );
  throw new MillraceError("invalid_request", `Cannot read the request: ${problems.join("; ")}`);
}
