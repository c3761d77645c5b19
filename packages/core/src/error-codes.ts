/** A code never changes its meaning. `status` is the HTTP status of a code on the wire. */
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

  invalid_envelope: {
    meaning: "The job's data is not a valid envelope, does not match its job, or cannot be stored.",
  },
  unknown_envelope_version: { meaning: "A later version of Millrace wrote the job." },
  job_mac_invalid: {
    meaning:
      "The job has no valid MAC, so Millrace may not have written it, and the ledger does not know its event.",
  },
  foreign_job: { meaning: "The job is for another ledger, whose workers run it." },
  body_hash_mismatch: { meaning: "The job's body does not match the hash of the verified body." },
  body_missing: {
    status: 410,
    meaning: "Neither the job nor the ledger has the event's body.",
  },
  body_lost: {
    meaning:
      "Postgres no longer has the event's body, which only it had: it was failed over or restored. The sender's redelivery runs it.",
  },
  identity_expired: {
    meaning: "The event was accepted longer ago than identities are kept. It is never run.",
  },
  suspected_replay: {
    meaning:
      "The same signed message was delivered before under another id. A retry runs the event.",
  },
  replay_lost: {
    meaning:
      "The ledger has the event, but not this replay of it. It may have completed before the ledger was restored.",
  },
  handler_failed: { meaning: "The handler threw an error." },
  handler_timeout: { meaning: "The handler ran longer than its timeout." },
  permanent_error: { meaning: "The handler threw PermanentError: a retry cannot help." },
  payload_mismatch: {
    meaning:
      "The payload does not match the schema of the event's handler. A retry checks it again.",
  },
  retry_later: {
    meaning: "The handler threw RetryLater: the event waits, and uses up no attempt.",
  },
  waited_too_long: {
    meaning: "The handler threw RetryLater for longer than the source's waitMaxMs.",
  },
  step_refused: {
    meaning:
      "A step of `once` has the name of another one of its attempt, or a result that cannot be kept as JSON of 64 kB.",
  },
  emit_refused: {
    meaning:
      "An event cannot be emitted: its source is not an internal one, or its type, key, data, or delay is not valid.",
  },
  emit_too_deep: {
    meaning:
      "An event cannot be emitted: it is the 17th of a chain of events that emit each other.",
  },
  interrupted: {
    meaning:
      "The attempt left no result: its worker died, or its shared transaction undid it or did not wait for it.",
  },
  attempts_exhausted: {
    meaning:
      "All attempts were used up, and the last one was interrupted before it reported a result.",
  },
  gave_up: { meaning: "BullMQ failed the job without running it." },
  database_unavailable: {
    meaning:
      "Postgres failed during the attempt. The attempt does not count, unless this happens more than 50 times.",
  },
  database_read_only: {
    meaning:
      "Postgres takes no writes: it is a standby, or a primary that was demoted. Handled like `database_unavailable`.",
  },
  lost_claim: {
    meaning: "Another worker has claimed the event in the meantime. Nothing was written.",
  },
  tx_closed: {
    meaning:
      "The transaction was used after the handler returned, or a nested one was still open then.",
  },
  query_not_awaited: {
    meaning:
      "The handler did not await a query of its transaction, a step (`once`), or an `emit`. Nothing was written.",
  },
  tx_control_refused: {
    meaning: "A handler tried to begin or end a transaction, or to COPY from STDIN or to STDOUT.",
  },
  tx_changed: {
    meaning:
      "The handler returned in another transaction than the one it was given. What it committed by itself stays, so it is not retried.",
  },
  illegal_transition: { meaning: "The ledger does not allow this change of status." },
  given_up: { meaning: "A person gave the event up while it was pending; only a retry runs it." },

  invalid_config: { meaning: "The config file or the environment is not valid." },
  config_not_found: { meaning: "There is no config file at the path." },
  file_exists: { meaning: "A file that would be written already exists." },
  handlers_not_loaded: { meaning: "The handlers could not be imported." },
  example_secret: { meaning: "A secret is an example from Millrace's documentation." },
  missing_secret: { meaning: "A source has no secret, or an empty one." },
  port_in_use: { meaning: "Another process listens on the port." },
  database_unreachable: { meaning: "Postgres does not answer." },
  redis_unreachable: { meaning: "Redis does not answer." },
  ingress_unreachable: { meaning: "No ingress answers at the URL." },
  queue_key_missing: {
    meaning:
      "Redis is on another machine, and MILLRACE_QUEUE_KEY is not set, so jobs are not signed.",
  },
  queue_in_use: {
    meaning:
      "Workers of another database run the jobs of this queue on Redis. Give each database a Redis or a QUEUE_PREFIX of its own.",
  },
  queue_unclaimed: {
    meaning: "No worker of the ledger has marked the queue on Redis. Start one.",
  },
  ledger_moved: {
    meaning:
      "The ledger is on another database than the one that its workers ran on: it was restored or copied.",
  },
  redis_evicts: { meaning: "Redis may evict jobs: maxmemory-policy is not noeviction." },
  redis_volatile: { meaning: "Redis keeps nothing on disk: it has no append-only file (AOF)." },
  redis_not_writing: {
    meaning: "Redis cannot write its append-only file, so it refuses writes. Its disk may be full.",
  },
  postgres_too_old: { meaning: "The version of Postgres is not supported." },
  unsupported_isolation: {
    meaning: "Transactions of the login in Postgres do not begin as read committed.",
  },
  missing_rights: { meaning: "The login in Postgres may not do what this role does." },
  redis_topology: {
    meaning:
      "REDIS_URL names a node of a Redis Cluster, a replica, or a Sentinel without the name of its primary.",
  },
  redis_disk_slow: {
    meaning:
      "Redis holds writes back in memory because its disk is slow, so it may lose what it confirms.",
  },
  redis_no_replica: {
    meaning: "No replica of Redis has the event in time, and queue.replicas requires one.",
  },
  migration_needed: { meaning: "The database's schema is older than this build." },
  migration_changed: {
    meaning:
      "The text of an applied migration has changed. If the database was made before 0.1.0: start with an empty database or another MILLRACE_DATA_DIR.",
  },
  migration_unknown: {
    meaning: "The database has a migration among this build's own that this build does not know.",
  },
  archive_failed: {
    meaning: "A day's bodies cannot be archived. They are kept until they can.",
  },
  session_needed: {
    meaning:
      "A pooler shares the connections to Postgres, and something needs one of its own. Set DATABASE_SESSION_URL.",
  },
  too_many_connections: { meaning: "The connection pools together could exceed max_connections." },
  already_running: { meaning: "Another `millrace start` runs in this folder." },
  endless_chain: {
    meaning:
      "In a test environment, handlers emit or wait without end: 1,000 attempts were made, and more are due.",
  },
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
} as const satisfies Record<string, { status?: number; meaning: string }>;

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
