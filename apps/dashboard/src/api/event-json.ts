import { isUtf8 } from "node:buffer";
import type { EventDetail } from "@millrace/api-contract";
import { MillraceError, parsePayload, type EventLookup } from "@millrace/core";
import type { EventRecord } from "@millrace/ledger";
import type { ShownEvent } from "@millrace/operations";
import type { FoundJob } from "@millrace/queue";

/** One event as `GET /api/events/:source/:eventId` answers it. */
export function eventJson(shown: ShownEvent, asked: EventLookup): EventDetail {
  return shown.stage === "recorded" ? recordedJson(shown.detail) : queuedJson(shown.job, asked);
}

function recordedJson(detail: EventRecord): EventDetail {
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
function queuedJson(job: FoundJob, asked: EventLookup): EventDetail {
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
function bodyJson(body: Uint8Array | undefined) {
  if (body === undefined) return { body: null, body_encoding: null, body_kept: false };
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  return { body: bytes.toString(encoding), body_encoding: encoding, body_kept: true } as const;
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
