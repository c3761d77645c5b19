import {
  bodyHash,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorableWithin,
  type ErrorCode,
  type QueuedEvent,
} from "@millrace/core";

/** Why a job is refused before the ledger hears of it. */
export interface JobRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

// The last day that both a JavaScript Date and a Postgres timestamptz can hold.
const TIME_MAX_MS = 8_640_000_000_000_000;

/**
 * Checks what can be known of a job by itself; undefined when nothing is wrong. Jobs can be edited
 * or added by hand, so nothing is written to the ledger on the word of one that is refused.
 */
export function checkJob({ event }: Pick<QueuedEvent, "event">): JobRefusal | undefined {
  if (!isStorableWithin(event.eventId, EVENT_ID_BYTES_MAX)) {
    return refusal(
      "invalid_envelope",
      "Cannot process job: its event id is not one that Millrace accepts",
    );
  }
  if (!isStorableWithin(event.type, EVENT_TYPE_BYTES_MAX)) {
    return refusal(
      "invalid_envelope",
      "Cannot process job: its event type is not one that Millrace accepts",
    );
  }
  if (!(event.acceptedAtMs >= 0 && event.acceptedAtMs <= TIME_MAX_MS)) {
    return refusal(
      "invalid_envelope",
      "Cannot process job: its time of acceptance is out of range",
    );
  }
  if (event.body !== undefined && bodyHash(event.body) !== event.bodyHash) {
    return refusal(
      "body_hash_mismatch",
      "Cannot process job: its body is not the one that was verified",
    );
  }
  return undefined;
}

/** The refusal of a job whose source is not in this worker's config. */
export function unknownSource({ event }: QueuedEvent): JobRefusal {
  const name = JSON.stringify(event.source.slice(0, 60));
  return refusal("unknown_source", `Cannot process job: no source ${name} is configured`);
}

function refusal(code: ErrorCode, message: string): JobRefusal {
  return { code, message };
}
