import {
  bodyHash,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorableWithin,
  type ErrorCode,
  type EventJob,
} from "@millrace/core";

/** The part of a job that is believed before the ledger is asked about its event. */
export interface JobTrust {
  readonly job: EventJob;
  /** True if Millrace wrote the job. A forged one adds nothing to the ledger. */
  readonly isTrusted: boolean;
  /** The refusal if the ledger does not have the event, by what else the job lacks. */
  readonly unknown: Readonly<Record<"body_missing" | "identity_expired", JobRefusal>>;
}

export function trustJob(job: EventJob, signsJobs: boolean): JobTrust {
  const { mac, event } = job;
  if (mac !== undefined) return { job: onlyItsEvent(job), isTrusted: false, unknown: FORGED };
  if (event.generation === 0) return { job, isTrusted: true, unknown: BODY_LOST };
  // A signed job of a replay was written when the ledger had it.
  const unknown = signsJobs ? LOST_REPLAY : UNKNOWN;
  return { job: withoutBody(job), isTrusted: true, unknown };
}

/** Keeps the name of the event alone. An empty hash is not compared. */
function onlyItsEvent(job: EventJob): EventJob {
  return withoutBody({ ...job, event: { ...job.event, bodyHash: "" } });
}

/** The ledger has the body of a replay, so a body in its job is not Millrace's. */
function withoutBody(job: EventJob): EventJob {
  return { ...job, event: { ...job.event, headers: {}, body: undefined } };
}

export interface JobRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

const refusal = (code: ErrorCode, why: string): JobRefusal => {
  return { code, message: `Cannot process job: ${why}` };
};

const MAC_INVALID = refusal(
  "job_mac_invalid",
  "it has no valid MAC, and the ledger does not know its event",
);
const FORGED = { body_missing: MAC_INVALID, identity_expired: MAC_INVALID };
const UNKNOWN: JobTrust["unknown"] = {
  body_missing: refusal(
    "body_missing",
    "it carries no body, and the ledger does not know the event",
  ),
  identity_expired: refusal(
    "identity_expired",
    "its event was accepted longer ago than identities are kept, and may have been handled",
  ),
};
/** Of an event as received: its job is without a body only when the ledger had that. */
const BODY_LOST: JobTrust["unknown"] = {
  ...UNKNOWN,
  body_missing: refusal("body_lost", "it carries no body, and Postgres has lost its event"),
};
const LOST_REPLAY: JobTrust["unknown"] = {
  ...UNKNOWN,
  body_missing: refusal(
    "replay_lost",
    "the ledger does not have this replay, which may have completed",
  ),
};

/** Undefined when nothing is wrong. Nothing of a refused job is written to the ledger. */
export function checkJob({ event }: Pick<EventJob, "event">): JobRefusal | undefined {
  if (!isStorableWithin(event.eventId, EVENT_ID_BYTES_MAX)) {
    return refusal("invalid_envelope", "its event id is not one that Millrace accepts");
  }
  if (!isStorableWithin(event.type, EVENT_TYPE_BYTES_MAX)) {
    return refusal("invalid_envelope", "its event type is not one that Millrace accepts");
  }
  if (event.body !== undefined && bodyHash(event.body) !== event.bodyHash) {
    return refusal("body_hash_mismatch", "its body is not the one that was verified");
  }
  return undefined;
}

export function unknownSource({ event }: EventJob): JobRefusal {
  const name = JSON.stringify(event.source.slice(0, 60));
  return refusal("unknown_source", `no source ${name} is configured`);
}
