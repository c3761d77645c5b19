import type { AttemptFailure, ErrorDetails, EventKey } from "@millrace/core";
import { cutGiven, cutText, toJson } from "../connection/cut-text.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { statement } from "../connection/statement.ts";
import { runStatement } from "../connection/transaction.ts";

/** Rows that the failures of one group, source, and type are counted in, against contention. */
const SHARDS = 64;

/** For each row of `logged` (source, event_id, generation, type). A resolved group opens again. */
export const COUNT_ERROR = `
counted AS (
  INSERT INTO millrace.error_counts AS c
    (fingerprint, source, type, shard, attempts, event_id, generation)
  SELECT :fingerprint::text, source, type, pg_backend_pid() % ${SHARDS}, 1, event_id, generation
  FROM logged WHERE :fingerprint::text IS NOT NULL
  ON CONFLICT (fingerprint, source, type, shard) DO UPDATE
  SET attempts = c.attempts + 1, last_seen_at = excluded.last_seen_at,
    event_id = excluded.event_id, generation = excluded.generation
),
grouped AS (
  INSERT INTO millrace.errors (fingerprint, title, code)
  SELECT :fingerprint::text, :title::text, code FROM logged WHERE :fingerprint::text IS NOT NULL
  ON CONFLICT DO NOTHING
),
reopened AS (
  UPDATE millrace.errors SET state = 'open', reopened_at = clock_timestamp()
  WHERE fingerprint = :fingerprint::text AND state = 'resolved' AND EXISTS (SELECT FROM logged)
)`;

export function groupValues(identity: Pick<ErrorDetails, "fingerprint" | "title"> | undefined) {
  return { fingerprint: identity?.fingerprint ?? null, title: cutGiven(identity?.title) };
}

/** Rows that the log of attempts keeps of an event's waits, which could come each second. */
export const WAITS_LOGGED = 100;

// Only the call that logs the attempt changes the event, so that a caller that lost the answer to a
// COMMIT may ask again. A lost event's job may be gone with its queue: the reconciler looks for it.
// A wait past the first ones gets no row in the log; `next_attempt_at` shows that it is recorded.
const FAIL = statement(
  `
WITH mine AS (
  SELECT source, event_id, generation, type, attempts, started_at, status, failed_run, next_attempt_at,
    :code = 'retry_later' AND waits >= ${WAITS_LOGGED} AS is_unlogged
  FROM millrace.events
  WHERE source = :source AND event_id = :eventId AND generation = :generation AND attempts = :attempt
  FOR UPDATE
),
logged AS (
  INSERT INTO millrace.attempts (
    source, event_id, generation, attempt, started_at, code, message, counted, fingerprint, stack, log, log_dropped
  )
  SELECT source, event_id, generation, attempts, started_at, :code, :message, :counts::bool, :fingerprint, :stack::jsonb, :log::jsonb, :logDropped::int
  FROM mine WHERE status = 'pending' AND NOT is_unlogged
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation, code, (SELECT type FROM mine) AS type
),
taken AS (
  SELECT source, event_id, generation FROM logged
  UNION ALL
  SELECT source, event_id, generation
  FROM mine WHERE status = 'pending' AND is_unlogged AND next_attempt_at IS NULL AND NOT EXISTS (
    SELECT FROM millrace.attempts a
    WHERE a.source = mine.source AND a.event_id = mine.event_id AND a.generation = mine.generation
      AND a.attempt = mine.attempts
  )
),
failed AS (
  UPDATE millrace.events e
  SET status = CASE WHEN :isFinal::bool THEN 'failed' ELSE 'pending' END,
    attempts_at_retry = CASE
      WHEN :counts::bool THEN e.attempts_at_retry ELSE least(e.attempts_at_retry + 1, e.attempts) END,
    processed_at = CASE WHEN :isFinal::bool THEN clock_timestamp() END,
    last_error_code = :code,
    last_error = :message,
    fingerprint = :fingerprint,
    failed_run = CASE WHEN :isFinal::bool THEN :run::text END,
    waits = e.waits + CASE WHEN :code = 'retry_later' THEN 1 ELSE 0 END,
    next_attempt_at = CASE WHEN NOT :isFinal::bool AND :code <> 'lost_claim'
      THEN clock_timestamp() + make_interval(secs => :afterMs::float8 / 1000) END,
    enqueued_at = CASE WHEN :code = 'lost_claim' THEN NULL ELSE e.enqueued_at END
  FROM taken
  WHERE e.source = taken.source AND e.event_id = taken.event_id
    AND e.generation = taken.generation
),
${COUNT_ERROR}
SELECT true AS recorded FROM mine
WHERE EXISTS (SELECT FROM taken)
  OR (status = 'pending' AND NOT :isFinal::bool)
  OR (status = 'failed' AND :isFinal::bool AND failed_run = :run::text)`,
  "millrace_fail",
);

/** `lost` when the event is not pending or claimed since. A second call returns the same. */
export async function fail(
  ledger: LedgerContext,
  key: EventKey,
  attempt: number,
  failure: AttemptFailure,
): Promise<"recorded" | "lost"> {
  const { final, counts, code, message, run, afterMs, details } = failure;
  const query = FAIL({
    ...key,
    ...groupValues(details),
    attempt,
    isFinal: final,
    counts,
    code,
    message: cutText(message),
    run,
    afterMs,
    stack: details?.stack.length ? toJson(details.stack) : null,
    log: details?.log.length ? toJson(details.log) : null,
    logDropped: details?.logDropped,
  });
  const { rows } = await runStatement(ledger.pool, query, ledger.prepared);
  return rows.length > 0 ? "recorded" : "lost";
}
