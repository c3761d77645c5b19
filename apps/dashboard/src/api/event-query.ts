import { EVENT_STATUSES, MillraceError, OUTCOMES } from "@millrace/core";
import { z } from "zod";

export const text = (bytesMax: number) =>
  z
    .string()
    .min(1)
    .refine((value) => Buffer.byteLength(value) <= bytesMax, `must be at most ${bytesMax} bytes`)
    .refine((value) => !value.includes("\0"), "must not hold a NUL");

const instant = z.iso
  .datetime({ offset: true, error: "must be a time such as 2026-01-31T12:00:00Z" })
  .transform((value) => new Date(value))
  // Older ones Postgres writes in a way of its own.
  .refine((date) => date.getTime() >= 0, "must not be before 1970");

/** Which events: what is left out does not matter. */
export const eventFilterSchema = z.strictObject({
  source: text(40).optional(),
  type: text(256).optional(),
  status: z.enum(EVENT_STATUSES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  /** An event id, or how it begins. */
  q: text(1_024).optional(),
  /** Recorded at this time or later. */
  since: instant.optional(),
  /** Recorded before. */
  until: instant.optional(),
});

/** How much of a list is asked for. */
export const pageSchema = {
  /** Rows a page. */
  limit: z
    .string()
    .regex(/^\d{1,3}$/, "must be 1 to 200")
    .transform(Number)
    .refine((value) => value >= 1 && value <= 200, "must be 1 to 200")
    .default(50),
  /** `next` of the page before. */
  cursor: text(2_048).optional(),
};

/** What `GET /api/events` takes. Every key is given once; one that it does not know is a problem. */
export const eventQuerySchema = eventFilterSchema.extend(pageSchema);

export type EventQuery = z.infer<typeof eventQuerySchema>;

/**
 * Reads the query of `GET /api/events`.
 *
 * @throws `invalid_request` with every problem and its parameter.
 */
export function parseEventQuery(query: unknown): EventQuery {
  const parsed = eventQuerySchema.safeParse({ ...(query as object) });
  if (parsed.success) return parsed.data;
  throw new MillraceError("invalid_request", `Cannot search events: ${problemsOf(parsed.error)}`);
}

/** What `GET /api/activity` takes. */
export const activityQuerySchema = eventFilterSchema.pick({ source: true });

/**
 * Reads the query of `GET /api/activity`.
 *
 * @throws `invalid_request` with every problem and its parameter.
 */
export function parseActivityQuery(query: unknown): z.infer<typeof activityQuerySchema> {
  const parsed = activityQuerySchema.safeParse({ ...(query as object) });
  if (parsed.success) return parsed.data;
  throw new MillraceError("invalid_request", `Cannot count events: ${problemsOf(parsed.error)}`);
}

/** Every problem with its place, in one line. */
export function problemsOf(error: z.ZodError): string {
  const problems = error.issues.map(
    (issue) => `${issue.path.join(".") || "request"}: ${issue.message}`,
  );
  return problems.join("; ");
}
