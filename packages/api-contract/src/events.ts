import { DELIVERY_OUTCOMES, EVENT_STATUSES, OUTCOMES } from "@millrace/core";
import { z } from "zod";
import { count, errorCode, instant, text, type Wire } from "./values.ts";

/** One generation of an event: the columns of `webhook_events` that go out. */
export const eventRow = z.strictObject({
  source: text("The sender's name in the config."),
  event_id: text("The sender's id of it."),
  generation: count("0 as received; each replay adds one."),
  type: text(),
  status: z.enum(EVENT_STATUSES),
  outcome: z.enum(OUTCOMES).nullable().describe("Of a completed event: how it came to be so."),
  attempts: count("Runs of the handlers."),
  unsigned: z.boolean().describe("Whether the id stands outside what was signed."),
  edited: z.boolean().describe("Whether a person edited and sent it: it is not from the sender."),
  received_at: instant("By the ingress's clock."),
  recorded_at: instant("By the database's clock; lists are ordered by it."),
  started_at: instant("When the latest attempt began.").nullable(),
  processed_at: instant("When it was completed or failed.").nullable(),
  next_attempt_at: instant(
    "When the next attempt of a pending event is due; it may begin a little later. Null while an attempt runs, and when there is nothing to wait for.",
  ).nullable(),
  last_error: text("Kept when a later attempt succeeds.").nullable(),
  last_error_code: errorCode().nullable(),
  fingerprint: text("Of the error's group; null where there is none.").nullable(),
});
export type EventRow = Wire<typeof eventRow>;

const queuedRow = z.strictObject({
  stage: z.literal("queued").describe("Only its queue has it as yet."),
  ...eventRow.pick({ source: true, generation: true }).shape,
  event_id: text("Null where the job cannot be trusted.").nullable(),
  type: text().nullable(),
  unsigned: z.boolean().nullable(),
  received_at: instant(),
  job_id: text(),
  job_state: z.enum(["waiting", "active", "delayed", "completed", "failed", "unknown"]),
  problem: z
    .enum(["unrecorded_job_unsigned", "unreadable_job"])
    .nullable()
    .describe("Why the job's content is not shown: a kind of disagreement."),
});
/** An event that only its queue has: no worker has recorded it yet, or none could. */
export type QueuedRow = Wire<typeof queuedRow>;

const queuedPage = z.strictObject({
  count: count("Jobs that wait on the queues of the sources, of whatever type."),
  events: z.array(queuedRow).describe("Newest first; `q` is the whole id here."),
});
export type QueuedPage = Wire<typeof queuedPage>;

export const eventPage = z.strictObject({
  events: z.array(eventRow),
  next: text(
    "The cursor of the next page; null on the last one. A page with `searched_to` can have no event, and a next page that has some.",
  ).nullable(),
  searched_to: instant(
    "The record of the last event that was looked at, of a page that ended before it was full: the search goes on with `next`.",
  ).nullable(),
  queued: queuedPage
    .nullable()
    .describe(
      "Events that only the queues have, on the first page of a filter that they can match; null while no queue answers.",
    ),
});
export type EventPage = Wire<typeof eventPage>;

const attempt = z.strictObject({
  attempt: count(),
  started_at: instant().nullable(),
  finished_at: instant(),
  code: errorCode("A code of the error registry."),
  message: text(),
  counted: z
    .boolean()
    .describe(
      "Whether it used up one of the source's attempts. Not when its handler asked to wait, or when the database was at fault.",
    ),
  fingerprint: text("Of the error's group; null where there is none.").nullable(),
  stack: z
    .array(
      z.strictObject({
        file: text("Relative to the project."),
        line: count().nullable(),
        column: count().nullable(),
        function: text().nullable(),
        own: z.boolean().describe("Whether it is the project's own code."),
      }),
    )
    .nullable()
    .describe("Where it was thrown, the innermost call first."),
  log: z
    .array(
      z.strictObject({
        at: instant("By the worker's clock."),
        level: z.enum(["debug", "info", "warn", "error"]),
        text: text(),
      }),
    )
    .nullable()
    .describe("The last lines that its handlers logged."),
  log_dropped: count("How many lines came before those.").nullable(),
});
/** An attempt that failed, or whose handler asked to wait. */
export type Attempt = Wire<typeof attempt>;

const conflict = z.strictObject({
  type: text("Of the delivery; null if only its hash was noted.").nullable(),
  kept: z
    .boolean()
    .describe("True when the body is kept, so that `body_hash` reads and replays it."),
  body_hash: text("SHA-256 of another body that came under the same id, base64url."),
  deliveries: count(),
  first_seen_at: instant(),
  last_seen_at: instant(),
});

const delivery = z.strictObject({
  at: instant("By the ingress's clock."),
  outcome: z
    .enum(DELIVERY_OUTCOMES)
    .describe(
      "`accepted` is the first; `conflict` came with another body; `failed` found the event failed, which a redelivery retries.",
    ),
  ingress: text(
    "The host that it came to; null for the first, of which it is not kept.",
  ).nullable(),
});
export type Delivery = Wire<typeof delivery>;

const deliveries = z.strictObject({
  total: count("With the first. A repeat is counted about a second after it came."),
  recent: z.array(delivery).describe("The last ten, newest first."),
});
export type Deliveries = Wire<typeof deliveries>;

const generation = eventRow.pick({
  generation: true,
  status: true,
  outcome: true,
  attempts: true,
  recorded_at: true,
  processed_at: true,
  last_error: true,
});

const emittedEvent = eventRow.pick({
  source: true,
  event_id: true,
  type: true,
  status: true,
  outcome: true,
  recorded_at: true,
  last_error_code: true,
  edited: true,
});

const sameMessage = z.strictObject({
  total: count("How many there are; the list has the first hundred."),
  events: z.array(emittedEvent.omit({ source: true })).describe("In the order in which they came."),
});

const emittedBy = eventRow.pick({ source: true, event_id: true, generation: true });

const emitted = z.strictObject({
  total: count("How many there are; the list has the first hundred."),
  events: z
    .array(emittedEvent)
    .describe("In the order in which they were recorded, without their replays."),
});

const act = z.strictObject({
  at: instant("When it was done, or its bulk run was started."),
  action: text(
    "`retry`, `replay`, `give_up`, `edit`; `retry_many`, `replay_many`, `give_up_many` by a bulk run.",
  ),
  actor: text("The user, or the name of a program's token, if one is known.").nullable(),
  via: text("As in the audit."),
  reason: text().nullable(),
  generation: count("Of the event that was meant.").nullable(),
  run: count("The bulk run that reached the event; null for an act on this event.").nullable(),
});
export type EventAct = Wire<typeof act>;

const step = z.strictObject({
  at: instant("When it ended, by the database's clock."),
  name: text("As the handler calls it."),
  attempt: count("The attempt that ran it."),
});
/** A step (`once`) of an event that has ended. */
export type EventStep = Wire<typeof step>;

const body = {
  find: z.array(text()).describe("Values of the body by which it is found: `customer: cus_1`."),
  payload: z
    .unknown()
    .describe(
      "The body's own JSON; null when it is no JSON, is larger than 256 kB, or is not at hand.",
    ),
  headers: z.record(z.string(), z.string()),
  body: text(
    "The exact bytes, in the encoding of `body_encoding`: the first 256 kB of them. Null with `body=false`.",
  ).nullable(),
  body_encoding: z.enum(["utf8", "base64"]).nullable(),
  body_kept: z.boolean(),
  body_bytes: count("Bytes of the whole body.").nullable(),
  body_truncated: z.boolean().describe("Whether `body` is a part of it: the rest is at `/body`."),
  authenticated_only: z
    .boolean()
    .describe("Whether nothing signed covers the body: authenticated only, not verified."),
};

export const eventHistory = z.strictObject({
  attempt_log: z.array(attempt).describe("Attempts that failed."),
  conflicts: z.array(conflict),
  generations: z.array(generation).describe("Newest first."),
  same_message: sameMessage.describe("Other events with the same signed message."),
  emitted_by: emittedBy
    .nullable()
    .describe("The event whose handler emitted this one, or that was edited."),
  emitted: emitted.describe(
    "Events that the handlers of this generation emitted, and those sent after an edit.",
  ),
  deliveries,
  acts: z.array(act).describe("Who ran it again or gave it up: the last 50, oldest first."),
  steps: z
    .array(step)
    .describe("Steps (`once`) of this generation that have ended: the first 100, oldest first."),
});
/** An event with its attempts, acts, steps, and the events that belong to it. */
export type EventHistory = Wire<typeof eventHistory>;

const recordedEvent = eventRow.extend({
  stage: z.literal("recorded").describe("The ledger has it."),
  ...body,
  ...eventHistory.shape,
});
const queuedEvent = queuedRow.extend({
  ...eventRow.pick({ event_id: true, last_error: true }).shape,
  status: z.null(),
  outcome: z.null(),
  attempts: count(),
  processed_at: instant().nullable(),
  edited: z.literal(false),
  ...body,
  attempt_log: z.array(attempt).max(0),
  conflicts: z.array(conflict).max(0),
  generations: z.array(generation).max(0),
  same_message: sameMessage,
  emitted_by: z.null(),
  emitted,
  deliveries,
  acts: z.array(act).max(0),
  steps: z.array(step).max(0),
});
export const eventDetail = z.union([recordedEvent, queuedEvent]);
/** An event with its body and its history, in the ledger or only in its queue. */
export type EventDetail = Wire<typeof eventDetail>;
