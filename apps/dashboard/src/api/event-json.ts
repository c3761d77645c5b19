import { isUtf8 } from "node:buffer";
import type { EventDetail, QueuedEvent, RecordedEvent } from "@millrace/api-contract";
import { MillraceError, parsePayload } from "@millrace/core";
import type { ShownEvent } from "@millrace/operations";

/** One event as `GET /api/events/:source/:eventId` answers it. */
export function eventJson(
  shown: ShownEvent,
  asked: { source: string; eventId: string },
): EventDetail {
  return shown.stage === "recorded" ? recordedJson(shown) : queuedJson(shown, asked);
}

function recordedJson({ detail }: Extract<ShownEvent, { stage: "recorded" }>): RecordedEvent {
  return {
    stage: "recorded",
    ...detail.event,
    payload: detail.payload,
    headers: detail.headers,
    ...bodyJson(detail.body),
    attempt_log: detail.attemptLog,
    conflicts: detail.conflicts,
    generations: detail.generations.toReversed(),
  };
}

/** An event that no worker has recorded yet, or could not: its status is its job's state. */
function queuedJson(
  { job }: Extract<ShownEvent, { stage: "queued" }>,
  asked: { source: string; eventId: string },
): QueuedEvent {
  const { event } = job;
  return {
    stage: "queued",
    source: asked.source,
    event_id: asked.eventId,
    generation: event?.generation ?? 0,
    type: event?.type ?? null,
    status: null,
    outcome: null,
    attempts: 0,
    unsigned: event?.unsigned ?? null,
    received_at: instant(event?.acceptedAtMs ?? job.enqueuedAtMs),
    processed_at: job.finishedAtMs === undefined ? null : instant(job.finishedAtMs),
    last_error: job.failedReason ?? null,
    job_id: job.jobId,
    job_state: job.state,
    payload: event?.body === undefined ? null : (parsePayload(event.body)?.value ?? null),
    headers: event?.headers ?? {},
    ...bodyJson(event?.body),
    attempt_log: [],
    conflicts: [],
    generations: [],
  };
}

/** The exact bytes: text where they are UTF-8, else base64, and null where they are no longer kept (or,
 * of an event that is only queued, not at hand). */
function bodyJson(
  body: Uint8Array | undefined,
): Pick<EventDetail, "body" | "body_encoding" | "body_kept"> {
  if (body === undefined) return { body: null, body_encoding: null, body_kept: false };
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const utf8 = isUtf8(bytes);
  return {
    body: bytes.toString(utf8 ? "utf8" : "base64"),
    body_encoding: utf8 ? "utf8" : "base64",
    body_kept: true,
  };
}

// A job's times may have been written by hand.
function instant(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The error of an event that neither the ledger nor the queue has. */
export function eventNotFound(eventId: string): MillraceError {
  return new MillraceError(
    "event_not_found",
    `Cannot find event ${JSON.stringify(eventId)}: neither the ledger nor the queue has it`,
  );
}
