import { wordsOf, type Words } from "./words-of.ts";

/** A code never changes its meaning; docs/errors.md has that of a code that no answer has. */
export const ERROR_CODES = {
  // Answers of the ingress to a sender.
  unknown_source: {
    status: 404,
    meaning: "No such source is configured. The ingress answers it as `invalid_signature`.",
  },
  not_found: { status: 404, meaning: "Nothing is served at this path." },
  method_not_allowed: { status: 405, meaning: "This path does not support this method." },
  invalid_signature: {
    status: 401,
    meaning: "The signature is missing, or does not match any of the source's secrets.",
  },
  invalid_timestamp: {
    status: 401,
    meaning:
      "The signed timestamp is missing, malformed, or outside the tolerance. The ingress answers it as `invalid_signature`.",
  },
  invalid_body: { status: 400, meaning: "The body is empty, or not in the provider's format." },
  invalid_event_id: {
    status: 400,
    meaning: "The event id is missing, longer than 1,024 bytes of UTF-8, or contains a NUL.",
  },
  invalid_event_type: {
    status: 400,
    meaning: "The event type is missing, longer than 256 bytes of UTF-8, or contains a NUL.",
  },
  body_too_large: { status: 413, meaning: "The body is larger than this source accepts." },
  body_timeout: { status: 408, meaning: "The body did not arrive in time." },
  too_many_chunks: { status: 400, meaning: "The body came in too many tiny chunks." },
  body_incomplete: { status: 400, meaning: "The connection ended before the body was complete." },
  body_already_read: {
    status: 500,
    meaning: "A body parser ran before the router, so the signed bytes are gone.",
  },
  unsupported_encoding: {
    status: 415,
    meaning: "The body is compressed. Send the bytes that were signed.",
  },
  malformed_request: { status: 400, meaning: "The request is not valid HTTP/1.1." },
  expectation_failed: { status: 417, meaning: "Expect header not supported." },
  headers_too_large: { status: 431, meaning: "The request's headers are larger than 16 kB." },
  request_timeout: { status: 408, meaning: "The request did not arrive in time." },
  overloaded: { status: 503, meaning: "Too many bytes are in flight. Send again later." },
  unavailable: {
    status: 503,
    meaning: "No store can take the event now, or its provider cannot verify it. Send again later.",
  },
  provider_failed: {
    status: 500,
    meaning: "The `verify` of a custom provider has a bug. The log has the error.",
  },
  shutting_down: { status: 503, meaning: "This process is shutting down. Send again." },
  internal: { status: 500, meaning: "Something unexpected happened. The log has the error." },

  ...bareCodes(`
    invalid_envelope unknown_envelope_version job_mac_invalid foreign_job body_hash_mismatch
  `),
  body_missing: {
    status: 410,
    meaning: "Neither the job nor the ledger has the event's body.",
  },
  ...bareCodes(`
    body_lost identity_expired suspected_replay replay_lost handler_failed handler_timeout
    permanent_error payload_mismatch retry_later waited_too_long step_refused emit_refused
    emit_too_deep
  `),
  interrupted: {
    meaning:
      "The attempt left no result: its worker died, or its shared transaction undid it or did not wait for it.",
  },
  ...bareCodes(`
    attempts_exhausted gave_up database_unavailable database_read_only lost_claim tx_closed
    query_not_awaited tx_control_refused tx_changed illegal_transition given_up

    invalid_config config_not_found file_exists handlers_not_loaded example_secret missing_secret
    port_in_use database_unreachable redis_unreachable ingress_unreachable queue_key_missing
    queue_in_use queue_unclaimed ledger_moved redis_evicts redis_volatile redis_not_writing
    postgres_too_old unsupported_isolation missing_rights redis_topology redis_disk_slow
    redis_no_replica migration_needed migration_changed migration_unknown session_needed
    too_many_connections already_running endless_chain postgres_not_started
  `),
  unauthorized: { status: 401, meaning: "A user and password, or a token, is required." },
  forbidden: { status: 403, meaning: "This is not allowed." },
  too_many_failures: {
    status: 429,
    meaning: "Too many wrong passwords or tokens. Try again later.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "A write needs application/json, or an empty body.",
  },
  invalid_request: { status: 400, meaning: "The request's parameters are not valid." },
  session_not_found: { status: 404, meaning: "No active session has this id." },
  error_not_found: {
    status: 404,
    meaning: "No error group has a fingerprint that begins with the given text.",
  },
  event_not_found: { status: 404, meaning: "No event with this source and id is known." },
  not_failed: { status: 409, meaning: "Only a failed event can be retried." },
  not_settled: {
    status: 409,
    meaning: "Only an event that is completed or failed can be replayed.",
  },
  not_pending: { status: 409, meaning: "Only a pending event can be given up." },
  event_running: {
    status: 409,
    meaning: "A handler of the event is running, so it cannot be given up now.",
  },
  queue_unreadable: {
    status: 409,
    meaning:
      "A key of the queue in Redis, or a job, is not as BullMQ writes it: somebody has changed it.",
  },
  count_mismatch: {
    status: 409,
    meaning:
      "A run of all events, or of more than 1,000, needs the number of events, and the given number is not the current one.",
  },
  run_not_found: { status: 404, meaning: "No bulk run with this id is known." },
  run_ended: { status: 409, meaning: "The bulk run has ended, so it cannot be changed." },
  superseded: { status: 409, meaning: "The event has a later generation." },
} as const satisfies Record<string, { status?: number; meaning?: string }>;

/** Codes with no status and no meaning for an answer: events, logs, and exits have them. */
function bareCodes<const Text extends string>(codes: Text) {
  const entries = wordsOf(codes).map((code) => [code, {}] as const);
  return Object.fromEntries(entries) as Record<Words<Text>, Record<never, never>>;
}

export type ErrorCode = keyof typeof ERROR_CODES;

/** Only a person's retry runs such events again: they may have had their effect, or repeat one. */
export const LEFT_TO_A_PERSON: readonly ErrorCode[] = [
  "suspected_replay",
  "replay_lost",
  "tx_changed",
  "given_up",
];

/** A server does not answer, or takes no writes now: another try later may succeed. */
export const SERVER_AWAY: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "database_unavailable",
  "database_read_only",
  "database_unreachable",
  "redis_unreachable",
  "redis_not_writing",
]);

export function statusOf(code: ErrorCode): number {
  const entry = ERROR_CODES[code];
  return "status" in entry ? entry.status : 500;
}

export function meaningOf(code: ErrorCode): string {
  const entry = ERROR_CODES[code];
  return "meaning" in entry ? entry.meaning : code;
}
