import { wordsOf, type Words } from "./words-of.ts";

/** A code never changes its meaning; docs/errors.md has that of a code that no answer has. */
export const ERROR_CODES = {
  // Answers of the ingress to a sender.
  unknown_source: answer(
    404,
    "No such source is configured. The ingress answers it as `invalid_signature`.",
  ),
  not_found: answer(404, "Nothing is served at this path."),
  method_not_allowed: answer(405, "This path does not support this method."),
  invalid_signature: answer(
    401,
    "The signature is missing, or does not match any of the source's secrets.",
  ),
  invalid_timestamp: answer(
    401,
    "The signed timestamp is missing, malformed, or outside the tolerance. The ingress answers it as `invalid_signature`.",
  ),
  invalid_body: answer(400, "The body is empty, or not in the provider's format."),
  invalid_event_id: answer(
    400,
    "The event id is missing, longer than 1,024 bytes of UTF-8, or contains a NUL.",
  ),
  invalid_event_type: answer(
    400,
    "The event type is missing, longer than 256 bytes of UTF-8, or contains a NUL.",
  ),
  body_too_large: answer(413, "The body is larger than this source accepts."),
  body_timeout: answer(408, "The body did not arrive in time."),
  too_many_chunks: answer(400, "The body came in too many tiny chunks."),
  body_incomplete: answer(400, "The connection ended before the body was complete."),
  body_already_read: answer(
    500,
    "A body parser ran before the router, so the signed bytes are gone.",
  ),
  unsupported_encoding: answer(415, "The body is compressed. Send the bytes that were signed."),
  malformed_request: answer(400, "The request is not valid HTTP/1.1."),
  expectation_failed: answer(417, "Expect header not supported."),
  headers_too_large: answer(431, "The request's headers are larger than 16 kB."),
  request_timeout: answer(408, "The request did not arrive in time."),
  overloaded: answer(503, "Too many bytes are in flight. Send again later."),
  unavailable: answer(
    503,
    "No store can take the event now, or its provider cannot verify it. Send again later.",
  ),
  provider_failed: answer(
    500,
    "The `verify` of a custom provider has a bug. The log has the error.",
  ),
  shutting_down: answer(503, "This process is shutting down. Send again."),
  internal: answer(500, "Something unexpected happened. The log has the error."),

  ...bareCodes(`
    invalid_envelope unknown_envelope_version job_mac_invalid foreign_job body_hash_mismatch
  `),
  body_missing: answer(410, "Neither the job nor the ledger has the event's body."),
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
  unauthorized: answer(401, "A user and password, or a token, is required."),
  forbidden: answer(403, "This is not allowed."),
  too_many_failures: answer(429, "Too many wrong passwords or tokens. Try again later."),
  unsupported_media_type: answer(415, "A write needs application/json, or an empty body."),
  invalid_request: answer(400, "The request's parameters are not valid."),
  session_not_found: answer(404, "No active session has this id."),
  error_not_found: answer(404, "No error group has a fingerprint that begins with the given text."),
  error_not_open: answer(409, "Only an open error can be assigned."),
  event_not_found: answer(404, "No event with this source and id is known."),
  not_failed: answer(409, "The event is completed, or queued already."),
  not_settled: answer(409, "Only an event that is completed or failed can be replayed."),
  not_pending: answer(409, "Only a pending event can be given up."),
  event_running: answer(409, "A handler of the event is running, so it cannot be given up now."),
  queue_unreadable: answer(
    409,
    "A key of the queue in Redis, or a job, is not as BullMQ writes it: somebody has changed it.",
  ),
  count_mismatch: answer(
    409,
    "A run of all events, or of more than 1,000, needs the number of events, and the given number is over a tenth off.",
  ),
  run_not_found: answer(404, "No bulk run with this id is known."),
  run_ended: answer(409, "The bulk run has ended, so it cannot be changed."),
  superseded: answer(409, "The event has a later generation."),
} as const satisfies Record<string, { status?: number; meaning?: string }>;

function answer(status: number, meaning: string) {
  return { status, meaning };
}

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
