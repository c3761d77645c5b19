import { MillraceError } from "@millrace/core";
import { z } from "zod";
import { eventFilterSchema, problemsOf } from "./event-query.ts";
import { reason } from "./reason.ts";

const how = {
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

const NOT_FAILED = "only failed events are retried";

/** What `POST /api/retry` takes; the status may be named, and can be no other. */
export const retryBodySchema = eventFilterSchema
  .omit({ outcome: true })
  .extend({ status: z.literal("failed", NOT_FAILED).optional(), ...how });

const retrySchema = retryBodySchema.transform(({ status: _status, ...body }) => split(body));

/** What `POST /api/replay` takes. */
export const replayBodySchema = eventFilterSchema.extend(how);

const replaySchema = replayBodySchema.transform(split);

/** Takes the filter apart from what is done with it. */
function split<Body extends z.infer<z.ZodObject<typeof how>>>(body: Body) {
  const { limit, all, dryRun, rate, reason: why, ...filter } = body;
  return { options: { filter, limit, all, dryRun, ratePerSecond: rate }, reason: why };
}

/**
 * Reads the body of `POST /api/retry`.
 *
 * @throws `invalid_request` with every problem and its key.
 */
export function parseRetryBody(body: unknown): z.infer<typeof retrySchema> {
  return parse(retrySchema, body, "retry");
}

/**
 * Reads the body of `POST /api/replay`.
 *
 * @throws `invalid_request` with every problem and its key.
 */
export function parseReplayBody(body: unknown): z.infer<typeof replaySchema> {
  return parse(replaySchema, body, "replay");
}

function parse<Output>(schema: z.ZodType<Output>, body: unknown, verb: string): Output {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const problems = problemsOf(parsed.error);
  throw new MillraceError("invalid_request", `Cannot ${verb} events: ${problems}`);
}
