/**
 * Every code that Millrace answers, records or exits with, in one place. A code never changes its
 * meaning. `status` is the HTTP status where the code can reach the wire.
 */
export const ERROR_CODES = {
  // What the ingress answers a sender.
  unknown_source: { status: 404, meaning: "No source with this name is configured." },
  not_found: { status: 404, meaning: "Nothing is served at this path." },
  method_not_allowed: { status: 405, meaning: "This path does not support this method." },
  invalid_signature: {
    status: 401,
    meaning: "The signature is missing, or does not match any of the source's secrets.",
  },
  invalid_timestamp: {
    status: 401,
    meaning: "The signed timestamp is missing, malformed, or outside the tolerance.",
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
  unavailable: { status: 503, meaning: "No store can take the event now. Send again later." },
  shutting_down: { status: 503, meaning: "This process is shutting down. Send again." },
  internal: { status: 500, meaning: "Something unexpected happened. The log has the error." },

  // What a job or an attempt is refused or failed with.
  invalid_envelope: {
    meaning: "The job's data is not a valid envelope, does not match its job, or cannot be stored.",
  },
  unknown_envelope_version: { meaning: "A later version of Millrace wrote the job." },
  body_hash_mismatch: { meaning: "The job's body does not match the hash of the verified body." },
  body_missing: {
    status: 410,
    meaning: "Neither the job nor the ledger has the event's body.",
  },
  identity_expired: {
    meaning: "The event was accepted longer ago than identities are kept. It is never run.",
  },
  handler_failed: { meaning: "The handler threw an error." },
  handler_timeout: { meaning: "The handler ran longer than its timeout." },
  permanent_error: { meaning: "The handler threw PermanentError: a retry cannot help." },
  attempts_exhausted: {
    meaning:
      "All attempts were used up, and the last one was interrupted before it reported a result.",
  },
  gave_up: { meaning: "BullMQ failed the job without running it." },
  database_unavailable: {
    meaning:
      "Postgres failed during the attempt. The attempt does not count, unless this happens more than 50 times.",
  },
  lost_claim: {
    meaning: "Another worker has claimed the event in the meantime. Nothing was written.",
  },
  tx_closed: {
    meaning:
      "The transaction was used after the handler returned, or a nested one was still open then.",
  },
  tx_control_refused: { meaning: "A handler tried to begin or end a transaction." },
  illegal_transition: { meaning: "The ledger does not allow this change of status." },

  // What people and programs are told.
  invalid_config: { meaning: "The config file or the environment is not valid." },
  config_not_found: { meaning: "There is no config file at the path." },
  file_exists: { meaning: "A file that would be written already exists." },
  handlers_not_loaded: { meaning: "The handlers could not be imported." },
  missing_secret: { meaning: "A source has no secret, or an empty one." },
  port_in_use: { meaning: "Another process listens on the port." },
  database_unreachable: { meaning: "Postgres does not answer." },
  redis_unreachable: { meaning: "Redis does not answer." },
  ingress_unreachable: { meaning: "No ingress answers at the URL." },
  redis_evicts: { meaning: "Redis may evict jobs: maxmemory-policy is not noeviction." },
  redis_volatile: { meaning: "Redis keeps nothing on disk: it has no append-only file (AOF)." },
  migration_needed: { meaning: "The database's schema is older than this build." },
  migration_changed: { meaning: "The text of an applied migration has changed." },
  migration_unknown: {
    meaning: "The database has a migration among this build's own that this build does not know.",
  },
  archive_failed: {
    meaning: "A day's bodies cannot be archived. They are kept until they can.",
  },
  too_many_connections: { meaning: "The connection pools together could exceed max_connections." },
  already_running: { meaning: "Another `millrace start` runs in this folder." },
  postgres_not_started: { meaning: "The embedded Postgres could not be started." },
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
  event_not_found: { status: 404, meaning: "No event with this source and id is known." },
  not_failed: { status: 409, meaning: "Only a failed event can be retried." },
  not_settled: {
    status: 409,
    meaning: "Only an event that is completed or failed can be replayed.",
  },
  superseded: { status: 409, meaning: "The event has a later generation." },
} as const satisfies Record<string, { status?: number; meaning: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The HTTP status of a code; 500 for one that was not meant for the wire. */
export function statusOf(code: ErrorCode): number {
  const entry = ERROR_CODES[code];
  return "status" in entry ? entry.status : 500;
}
