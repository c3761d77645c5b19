import type { EventDetail } from "@millrace/api-contract";
import { shownText } from "@millrace/api-contract/format-body";
import { MillraceError, shownPayload, type EventLookup } from "@millrace/core";
import { queuedRow, type ShownEvent } from "@millrace/operations";

export function eventJson(
  shown: ShownEvent,
  asked: EventLookup,
  { bodyBytesMax, ...trust }: Pick<EventDetail, "authenticated_only"> & { bodyBytesMax: number },
): EventDetail {
  if (shown.stage === "queued") return { ...queuedJson(shown, asked, bodyBytesMax), ...trust };
  const { event, body, bodyBytes, ...about } = shown.detail;
  return {
    ...{ stage: shown.stage, ...event, ...about, ...bodyJson(body, bodyBytes), ...trust },
    generations: about.generations.toReversed(),
  };
}

function queuedJson(
  { job, deliveries }: ShownEvent & { stage: "queued" },
  asked: EventLookup,
  bodyBytesMax: number,
) {
  // Of an unsigned job only the name that the caller sent is shown.
  const event = job.mac === undefined ? job.event : undefined;
  const body = event?.body;
  const isWhole = body !== undefined && body.byteLength <= bodyBytesMax;
  return {
    ...queuedRow(asked.source, job),
    event_id: asked.eventId,
    generation: event?.generation ?? asked.generation ?? 0,
    status: null,
    outcome: null,
    attempts: 0,
    edited: false as const,
    processed_at: job.finishedAtMs === undefined ? null : instant(job.finishedAtMs),
    last_error: job.failedReason ?? null,
    payload: isWhole ? shownPayload(body) : null,
    headers: event?.headers ?? {},
    find: [],
    ...bodyJson(body?.subarray(0, bodyBytesMax), body?.byteLength),
    attempt_log: [],
    conflicts: [],
    generations: [],
    same_message: { total: 0, events: [] },
    emitted_by: null,
    emitted: { total: 0, events: [] },
    deliveries,
    acts: [],
    steps: [],
  };
}

/** Text where the bytes are UTF-8, else base64; null where no bytes were asked for or kept. */
function bodyJson(part: Uint8Array | undefined, total: number | undefined) {
  if (part === undefined || total === undefined) return NO_BODY;
  const isTruncated = part.byteLength < total;
  const about = { body_kept: true, body_bytes: total, body_truncated: isTruncated };
  if (part.byteLength === 0 && isTruncated) return { body: null, body_encoding: null, ...about };
  const text = shownText(part, !isTruncated);
  if (text !== undefined) return { body: text, body_encoding: "utf8" as const, ...about };
  const base64 = Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString("base64");
  return { body: base64, body_encoding: "base64" as const, ...about };
}

const NO_BODY = {
  ...{ body: null, body_encoding: null },
  ...{ body_kept: false, body_bytes: null, body_truncated: false },
};

// A job's times may have been changed by hand.
function instant(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

export function eventNotFound(eventId: string): MillraceError {
  return new MillraceError(
    "event_not_found",
    `Cannot find event ${JSON.stringify(eventId)}: neither the ledger nor the queue has it`,
  );
}
