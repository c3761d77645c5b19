import { EVENT_STATUSES, OUTCOMES } from "@millrace/core";
import { z } from "zod";
import { generationQuerySchema } from "../api/event-path.ts";
import { eventQuerySchema } from "../api/event-query.ts";
import type { Operation } from "./operation.ts";
import { count, instant, text } from "./values.ts";

const event = z.strictObject({
  source: text("The sender's name in the config."),
  event_id: text("The sender's id of it."),
  generation: count("0 as received; each replay adds one."),
  type: text(),
  status: z.enum(EVENT_STATUSES),
  outcome: z.enum(OUTCOMES).nullable().describe("Of a completed event: how it came to be so."),
  attempts: count("Runs of the handlers."),
  unsigned: z.boolean().describe("Whether the id stands outside what was signed."),
  received_at: instant("By the ingress's clock."),
  recorded_at: instant("By the database's clock; lists are ordered by it."),
  started_at: instant("When the latest attempt began.").nullable(),
  processed_at: instant("When it was completed or failed.").nullable(),
  last_error: text("Kept when a later attempt succeeds.").nullable(),
  last_error_code: text().nullable(),
});

const eventPage = z.strictObject({
  events: z.array(event),
  next: text("The cursor of the next page; null on the last one.").nullable(),
});

const body = {
  payload: z.unknown().describe("The body parsed; null when it is no JSON or is not at hand."),
  headers: z.record(z.string(), z.string()),
  body: text("The exact bytes, in the encoding of `body_encoding`.").nullable(),
  body_encoding: z.enum(["utf8", "base64"]).nullable(),
  body_kept: z.boolean(),
};

const attempt = z.strictObject({
  attempt: count(),
  started_at: instant().nullable(),
  finished_at: instant(),
  code: text("A code of the error registry."),
  message: text(),
  counted: z.boolean().describe("False when the database was at fault."),
});

const conflict = z.strictObject({
  body_hash: text("SHA-256 of another body that came under the same id, base64url."),
  deliveries: count(),
  first_seen_at: instant(),
  last_seen_at: instant(),
});

const generation = event.pick({
  generation: true,
  status: true,
  outcome: true,
  attempts: true,
  recorded_at: true,
  processed_at: true,
  last_error: true,
});

const recorded = event.extend({
  stage: z.literal("recorded").describe("The ledger has it."),
  ...body,
  attempt_log: z.array(attempt).describe("Attempts that failed."),
  conflicts: z.array(conflict),
  generations: z.array(generation).describe("Newest first."),
});

const queued = z.strictObject({
  stage: z.literal("queued").describe("Only its queue has it as yet."),
  ...event.pick({ source: true, event_id: true, generation: true, last_error: true }).shape,
  type: text().nullable(),
  status: z.null(),
  outcome: z.null(),
  attempts: count(),
  unsigned: z.boolean().nullable(),
  received_at: instant().nullable(),
  processed_at: instant().nullable(),
  job_id: text(),
  job_state: z.enum(["waiting", "active", "delayed", "completed", "failed"]),
  ...body,
  attempt_log: z.array(attempt).max(0),
  conflicts: z.array(conflict).max(0),
  generations: z.array(generation).max(0),
});

/** Looking at events. */
export const EVENT_OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/events",
    summary: "Events of a filter, newest first.",
    who: "viewer",
    query: eventQuerySchema,
    answer: ["EventPage", eventPage],
    errors: ["invalid_request"],
  },
  {
    method: "get",
    path: "/events/:source/:eventId",
    summary: "One event with its payload, failed attempts and generations; the id is URL-encoded.",
    who: "viewer",
    query: generationQuerySchema,
    answer: ["EventDetail", z.union([recorded, queued])],
    errors: ["invalid_request", "event_not_found"],
  },
];
