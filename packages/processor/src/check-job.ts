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

// The last day that both a JavaScript Date and a Postgres timestamptz can hold.
const TIME_MAX_MS = 8_640_000_000_000_000;

/**
 * Checks what a job says by itself; undefined when nothing is wrong. Jobs can be edited or added by
 * hand, so nothing of a job that is refused is written to the ledger.
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
  if (!(event.acceptedAtMs >= 0 && event.acceptedAtMs <= TIME_MAX_MS)) {
    return {
      code: "invalid_envelope",
      message: "Cannot process job: its time of acceptance is out of range",
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

/** What the ledger says of a job that only it can refuse. */
export const IDENTITY_EXPIRED: JobRefusal = {
  code: "identity_expired",
  message:
    "Cannot process job: its event was accepted longer ago than identities are kept, and may have been handled",
};
export const BODY_MISSING: JobRefusal = {
  code: "body_missing",
  message: "Cannot process job: it carries no body, and the ledger does not know the event",
};
