import { DISAGREEMENT_KINDS } from "@millrace/operations";
import { z } from "zod";
import { auditQuerySchema } from "../api/audit-query.ts";
import { activityQuerySchema } from "../api/event-query.ts";
import type { Operation } from "./operation.ts";
import { count, instant, text } from "./values.ts";

const jobs = z.strictObject({
  waiting: count(),
  active: count(),
  delayed: count(),
  completed: count("Kept for ten minutes."),
  failed: count(),
  paused: z.boolean(),
});

const stats = z.strictObject({
  sources: z.record(
    z.string(),
    z.strictObject({
      pending: count(),
      completed: count("Counted less often than the others where there are many."),
      failed: count(),
      queued: count("Jobs that wait, run or are delayed.").nullable(),
      jobs: jobs.nullable().describe("Null when the queue does not answer."),
    }),
  ),
});

const latency = (about: string) => z.number().nullable().describe(about);

const activity = z.strictObject({
  bucket_seconds: z.literal(60),
  buckets: z
    .array(
      z.strictObject({
        at: instant("When the minute began."),
        recorded: count(),
        completed: count(),
        failed: count("Failed, and not retried before it was counted."),
        p50_ms: latency("Half of what ended took no longer, from the record to the end."),
        p95_ms: latency("19 of 20 took no longer."),
      }),
    )
    .length(60)
    .describe("The last hour, oldest first."),
});

const disagreements = z.strictObject({
  checked_at: instant(),
  pending_checked: count("Pending events that were compared."),
  kinds: z.array(
    z.strictObject({
      kind: z.enum(DISAGREEMENT_KINDS),
      count: count(),
      meaning: text(),
      mend: text("What a worker will do about it."),
      examples: z.array(z.strictObject({ source: text(), event_id: text(), generation: count() })),
    }),
  ),
});

const anything = z.record(z.string(), z.unknown());

const auditPage = z.strictObject({
  entries: z.array(
    z.strictObject({
      id: text(),
      at: instant(),
      actor: text("The user, if one is known.").nullable(),
      role: z.enum(["operator", "viewer"]),
      via: z.enum(["session", "token", "local", "cli", "board"]),
      action: text("`retry`, `replay`, `retry_many`, `replay_many`, `pause`, `resume` and others."),
      source: text().nullable(),
      event_id: text().nullable(),
      generation: count().nullable(),
      filter: anything.nullable().describe("What was asked for, of many events."),
      reason: text().nullable(),
      result: anything.nullable().describe("Null while it is done, or when nobody could say."),
    }),
  ),
  next: text("The cursor of the next page; null on the last one.").nullable(),
});

/** How things stand, and who did what. */
export const OVERVIEW_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/stats",
    summary: "Events by source and status, and jobs by source and state.",
    who: "viewer",
    answer: ["Stats", stats],
  },
  {
    method: "get",
    path: "/activity",
    summary: "The last hour by minute.",
    who: "viewer",
    query: activityQuerySchema,
    answer: ["Activity", activity],
    errors: ["invalid_request"],
  },
  {
    method: "get",
    path: "/disagreements",
    summary: "What ledger and queues disagree on, as `millrace doctor` has it.",
    who: "viewer",
    answer: ["Disagreements", disagreements],
  },
  {
    method: "get",
    path: "/audit",
    summary: "Who did what, when and why; newest first.",
    who: "viewer",
    query: auditQuerySchema,
    answer: ["AuditPage", auditPage],
    errors: ["invalid_request"],
  },
];
