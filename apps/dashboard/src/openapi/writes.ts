import { z } from "zod";
import { replayBodySchema, retryBodySchema } from "../api/bulk-body.ts";
import { generationQuerySchema } from "../api/event-path.ts";
import { reasonBodySchema } from "../api/reason.ts";
import type { Operation } from "./operation.ts";
import { count, text } from "./values.ts";

const skipped = z
  .record(z.string(), z.int().min(1))
  .describe("How many events were left alone, by reason.");

const retried = z.strictObject({ retried: z.literal(1), skipped });
const replayed = z.strictObject({
  replayed: z.literal(1),
  skipped,
  generation: count("The new one."),
});
const retriedMany = z.strictObject({ retried: count(), skipped, dryRun: z.boolean() });
const replayedMany = z.strictObject({ replayed: count(), skipped, dryRun: z.boolean() });
const paused = z.strictObject({ source: text(), paused: z.boolean() });

const ofOneEvent = { query: generationQuerySchema, body: reasonBodySchema } as const;
const operator = { method: "post", who: "operator" } as const;

/** Retries, replays, pauses and resumes; each is written to the audit before it is done. */
export const WRITE_OPERATIONS: readonly Operation[] = [
  {
    ...operator,
    path: "/events/:source/:eventId/retry",
    summary: "Runs a failed event again, with all its attempts.",
    ...ofOneEvent,
    answer: ["Retried", retried],
    errors: ["event_not_found", "unknown_source", "not_failed", "body_missing"],
  },
  {
    ...operator,
    path: "/events/:source/:eventId/replay",
    summary: "Runs a settled event once more, as a further generation.",
    ...ofOneEvent,
    answer: ["Replayed", replayed],
    errors: ["event_not_found", "unknown_source", "not_settled", "superseded", "body_missing"],
  },
  {
    ...operator,
    path: "/retry",
    summary: "Retries the failed events of a filter; an empty one needs `all`.",
    body: retryBodySchema,
    answer: ["RetriedMany", retriedMany],
    errors: ["unknown_source"],
  },
  {
    ...operator,
    path: "/replay",
    summary: "Replays the settled events of a filter; an empty one needs `all`.",
    body: replayBodySchema,
    answer: ["ReplayedMany", replayedMany],
    errors: ["unknown_source"],
  },
  {
    ...operator,
    path: "/sources/:source/pause",
    summary: "Makes every worker leave a source's events alone.",
    body: reasonBodySchema,
    answer: ["Paused", paused],
    errors: ["unknown_source"],
  },
  {
    ...operator,
    path: "/sources/:source/resume",
    summary: "Makes the workers run a source's events again.",
    body: reasonBodySchema,
    answer: ["Paused", paused],
    errors: ["unknown_source"],
  },
];
