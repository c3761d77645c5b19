/**
 * Every code that Millrace answers, records or exits with, in one place. A code never changes its
 * meaning. `status` is the HTTP status where the code can reach the wire.
 */
export const ERROR_CODES = {
  // What the ingress answers a sender.
  unknown_source: { status: 404, meaning: "No source of this name is configured." },
  not_found: { status: 404, meaning: "Nothing is served at this path." },
  method_not_allowed: { status: 405, meaning: "This path is not served by this method." },
  invalid_signature: {
    status: 401,
    meaning: "The signature is missing or does not match any live secret.",
  },
  invalid_timestamp: {
    status: 401,
    meaning: "The signed timestamp is missing, malformed, or outside the tolerance.",
  },
  invalid_body: { status: 400, meaning: "The body is empty, or not in the provider's format." },
  invalid_event_id: {
    status: 400,
    meaning: "The event id is missing, longer than 1,024 bytes of UTF-8, or holds a NUL.",
  },
  invalid_event_type: {
    status: 400,
    meaning: "The event type is missing, longer than 256 bytes of UTF-8, or holds a NUL.",
  },
  body_too_large: { status: 413, meaning: "The body is larger than this source accepts." },
  body_timeout: { status: 408, meaning: "The body did not arrive in time." },
  body_incomplete: { status: 400, meaning: "The connection ended before the body did." },
  body_already_read: {
    status: 500,
    meaning: "A body parser ran before the router, so the signed bytes are gone.",
  },
  unsupported_encoding: {
    status: 415,
    meaning: "The body is compressed. Signed bytes are taken as they are.",
  },
  malformed_request: { status: 400, meaning: "What came is not HTTP/1.1 that can be read." },
  expectation_failed: { status: 417, meaning: "The request expects what is not done here." },
  headers_too_large: { status: 431, meaning: "The request's headers are larger than 16 kB." },
  request_timeout: { status: 408, meaning: "The request did not arrive in time." },
  overloaded: { status: 503, meaning: "Too many bytes are in flight. Send again later." },
  unavailable: { status: 503, meaning: "No durable place can take the event. Send again later." },
  shutting_down: { status: 503, meaning: "This process is closing. Send again." },
  internal: { status: 500, meaning: "Something unexpected happened. The log says what." },

  // What a job or an attempt is refused or failed with.
  invalid_envelope: { meaning: "A job's data was not written by Millrace." },
  unknown_envelope_version: { meaning: "A job was written by a later version of Millrace." },
  body_hash_mismatch: { meaning: "A job's body is not the one that was verified." },
  body_missing: {
    status: 410,
    meaning: "Neither the job nor the ledger has the event's body.",
  },
  identity_expired: {
    meaning: "The event was accepted longer ago than identities are kept. It is never run.",
  },
  handler_failed: { meaning: "The handler threw." },
  handler_timeout: { meaning: "The handler ran longer than its timeout." },
  permanent_error: { meaning: "The handler threw PermanentError: no retry will help." },
  attempts_exhausted: { meaning: "An attempt died without a word, and it was the last." },
  gave_up: { meaning: "The queue gave the job up without running it." },
  database_unavailable: {
    meaning: "Postgres failed the attempt. It does not count, unless it happens over and over.",
  },
  lost_claim: { meaning: "Another worker has claimed the event since. Nothing was written." },
  tx_closed: { meaning: "The handler's transaction was used after the handler had returned." },
  tx_control_refused: { meaning: "A handler tried to end the transaction it was given." },
  illegal_transition: { meaning: "The ledger refuses this change of status." },

  // What people and programs are told.
  invalid_config: { meaning: "The config file or the environment is not valid." },
  config_not_found: { meaning: "There is no config file at the path." },
  file_exists: { meaning: "A file that would be written is there already." },
  handlers_not_loaded: { meaning: "The handlers could not be imported." },
  missing_secret: { meaning: "A source has no secret, or an empty one." },
  port_in_use: { meaning: "Another process listens on the port." },
  database_unreachable: { meaning: "Postgres does not answer." },
  redis_unreachable: { meaning: "Redis does not answer." },
  ingress_unreachable: { meaning: "No ingress answers where one was looked for." },
  redis_evicts: { meaning: "Redis may evict jobs: maxmemory-policy is not noeviction." },
  redis_volatile: { meaning: "Redis keeps nothing on disk: it has no AOF." },
  migration_needed: { meaning: "The database's schema is older than this build." },
  migration_changed: { meaning: "A migration that was applied has another text now." },
  migration_unknown: {
    meaning: "The database has a migration among this build's own that it does not know.",
  },
  archive_failed: {
    meaning: "A day's bodies cannot be archived. They are kept until they can.",
  },
  too_many_connections: { meaning: "The pools together ask for more than max_connections." },
  already_running: { meaning: "Another `millrace start` runs in this folder." },
  postgres_not_started: { meaning: "The embedded Postgres could not be started." },
  unauthorized: { status: 401, meaning: "A user and password, or a token, are wanted." },
  forbidden: { status: 403, meaning: "This is not allowed here." },
  too_many_failures: {
    status: 429,
    meaning: "Too many wrong passwords or tokens of late. Try again later.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "A write takes application/json, or an empty body.",
  },
  invalid_request: { status: 400, meaning: "The request's parameters are not valid." },
  event_not_found: { status: 404, meaning: "No event of this source and id is known." },
  not_failed: { status: 409, meaning: "Only a failed event can be retried." },
  not_settled: { status: 409, meaning: "Only an event that is not pending can be replayed." },
  superseded: { status: 409, meaning: "A later generation of the event is there." },
} as const satisfies Record<string, { status?: number; meaning: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The HTTP status of a code; 500 for one that was not meant for the wire. */
export function statusOf(code: ErrorCode): number {
  const entry = ERROR_CODES[code];
  return "status" in entry ? entry.status : 500;
}
