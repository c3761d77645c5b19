import {
  bodyHash,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorableWithin,
  type ErrorCode,
  type EventJob,
} from "@millrace/core";

/** Why a job is refused before it is recorded. */
export interface JobRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

/**
 * Checks what a job says by itself; undefined when nothing is wrong. Jobs can be edited or added by
 * hand, so nothing of a job that is refused is written to the ledger. Its numbers are within the bounds of the
 * ledger's columns, or it would not have been read (`fromEnvelope`).
 */
export function checkJob({ event }: Pick<EventJob, "event">): JobRefusal | undefined {
  if (!isStorableWithin(event.eventId, EVENT_ID_BYTES_MAX)) {
    return {
      code: "invalid_envelope",
      message: "Cannot process job: its event id is not one that Millrace accepts",
    };
  }
  if (!isStorableWithin(event.type, EVENT_TYPE_BYTES_MAX)) {
    return {
      code: "invalid_envelope",
      message: "Cannot process job: its event type is not one that Millrace accepts",
    };
  }
  if (event.body !== undefined && bodyHash(event.body) !== event.bodyHash) {
    return {
      code: "body_hash_mismatch",
      message: "Cannot process job: its body is not the one that was verified",
    };
  }
  return undefined;
}

/** The refusal of a job whose source is not in this worker's config. */
export function unknownSource({ event }: EventJob): JobRefusal {
  const name = JSON.stringify(event.source.slice(0, 60));
  return {
    code: "unknown_source",
    message: `Cannot process job: no source ${name} is configured`,
  };
}
