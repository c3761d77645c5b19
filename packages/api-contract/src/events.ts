import { EVENT_STATUSES, OUTCOMES } from "@millrace/core";
import { z } from "zod";
import { count, errorCode, instant, text, type Wire } from "./values.ts";

/** One generation of an event as lists show it: the columns of `webhook_events` that go out. */
export const eventRow = z.strictObject({
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
  last_error_code: errorCode().nullable(),
});
export type EventRow = Wire<typeof eventRow>;

export const eventPage = z.strictObject({
  events: z.array(eventRow),
  next: text("The cursor of the next page; null on the last one.").nullable(),
});
export type EventPage = Wire<typeof eventPage>;

const attempt = z.strictObject({
  attempt: count(),
  started_at: instant().nullable(),
  finished_at: instant(),
  code: errorCode("A code of the error registry."),
  message: text(),
  counted: z.boolean().describe("False when the database was at fault."),
});
/** An attempt that failed. */
export type Attempt = Wire<typeof attempt>;

const conflict = z.strictObject({
  body_hash: text("SHA-256 of another body that came under the same id, base64url."),
  deliveries: count(),
  first_seen_at: instant(),
  last_seen_at: instant(),
});
/** Deliveries of an event with one other body, which was not kept. */
export type Conflict = Wire<typeof conflict>;

const generation = eventRow.pick({
  generation: true,
  status: true,
  outcome: true,
  attempts: true,
  recorded_at: true,
  processed_at: true,
  last_error: true,
});
/** The event as received, or one replay of it. */
export type Generation = Wire<typeof generation>;

const body = {
  payload: z.unknown().describe("The body parsed; null when it is no JSON or is not at hand."),
  headers: z.record(z.string(), z.string()),
  body: text("The exact bytes, in the encoding of `body_encoding`.").nullable(),
  body_encoding: z.enum(["utf8", "base64"]).nullable(),
  body_kept: z.boolean(),
};

/** An event that the ledger has. */
const recordedEvent = eventRow.extend({
  stage: z.literal("recorded").describe("The ledger has it."),
  ...body,
  attempt_log: z.array(attempt).describe("Attempts that failed."),
  conflicts: z.array(conflict),
  generations: z.array(generation).describe("Newest first."),
});
/** An event that only its queue has: no worker has recorded it yet, or none could. */
const queuedEvent = z.strictObject({
  stage: z.literal("queued").describe("Only its queue has it as yet."),
  ...eventRow.pick({ source: true, event_id: true, generation: true, last_error: true }).shape,
  type: text().nullable(),
  status: z.null(),
  outcome: z.null(),
  attempts: count(),
  unsigned: z.boolean().nullable(),
  received_at: instant().nullable(),
  processed_at: instant().nullable(),
  job_id: text(),
  job_state: z.enum(["waiting", "active", "delayed", "completed", "failed", "unknown"]),
  ...body,
  attempt_log: z.array(attempt).max(0),
  conflicts: z.array(conflict).max(0),
  generations: z.array(generation).max(0),
});
export const eventDetail = z.union([recordedEvent, queuedEvent]);
/** An event with its body and its history. `stage` says whether the ledger has it, or only its queue. */
export type EventDetail = Wire<typeof eventDetail>;
