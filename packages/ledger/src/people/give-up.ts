import { wait, type EventKey } from "@millrace/core";
import { isStorableKey, keyText, packKeys } from "../claims/event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";

export type GiveUpAnswer =
  /** It was pending and is failed now. The caller removes its job. */
  | "given_up"
  /** Its attempt runs, or its worker died in one and the queue has not noticed. Nothing changed. */
  | "event_running"
  | "not_pending"
  | "not_found";

/** One answer for each key, in order. Waits for no handler. Events stay in their error group. */
export async function giveUpMany(
  { send }: Pick<LedgerContext, "send">,
  keys: readonly EventKey[],
): Promise<readonly GiveUpAnswer[]> {
  const found = new Map<string, GiveUpAnswer>();
  const ask = async (asked: readonly EventKey[]) => {
    const { rows } = await send<EventKey & { kind: GiveUpAnswer }>({
      text: GIVE_UP_MANY,
      values: packKeys(asked),
    });
    for (const row of rows) found.set(keyText(row), row.kind);
  };
  const storable = keys.filter(isStorableKey);
  await ask(storable);
  const held = storable.filter((key) => found.get(keyText(key)) === "event_running");
  if (held.length > 0) {
    // A transaction that only notes a job holds the row too, for as long as its commit takes.
    await wait(HELD_MS);
    await ask(held);
  }
  return keys.map((key) => found.get(keyText(key)) ?? "not_found");
}

const HELD_MS = 250;

const FIND_GIVEN_UP_JOBS = `
SELECT source, event_id AS "eventId", generation FROM millrace.events
WHERE source = ANY ($1) AND status = 'failed' AND last_error_code = 'given_up' AND enqueued_at IS NOT NULL
LIMIT $2`;

export async function findGivenUpJobs(
  ledger: LedgerContext,
  sources: readonly string[],
  limit: number,
): Promise<readonly EventKey[]> {
  const query = { text: FIND_GIVEN_UP_JOBS, values: [sources, limit] };
  return (await ledger.send<EventKey>(query)).rows;
}

const NOTE_JOBS_REMOVED = `
UPDATE millrace.events e SET enqueued_at = NULL
FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
WHERE e.source = w.source AND e.event_id = w.event_id AND e.generation = w.generation
  AND e.status = 'failed' AND e.last_error_code = 'given_up'`;

export async function noteJobsRemoved(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<void> {
  if (keys.length > 0) await ledger.send({ text: NOTE_JOBS_REMOVED, values: packKeys(keys) });
}

/** A handler that makes calls holds no row: its attempt is counted, but not logged or due. */
const GIVE_UP_MANY = `
WITH wanted AS (
  SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
),
target AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation
  FROM wanted JOIN millrace.events e USING (source, event_id, generation)
  WHERE e.status = 'pending' AND (
    e.attempts = 0 OR e.next_attempt_at IS NOT NULL OR EXISTS (
      SELECT FROM millrace.attempts a
      WHERE a.source = e.source AND a.event_id = e.event_id AND a.generation = e.generation
        AND a.attempt = e.attempts
    )
  )
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e SKIP LOCKED
),
given_up AS (
  UPDATE millrace.events e
  SET status = 'failed', processed_at = clock_timestamp(), last_error_code = 'given_up',
    last_error = CASE WHEN e.last_error_code = 'given_up' THEN e.last_error
      ELSE 'Given up by a person' || coalesce('. The last error: ' || e.last_error, '') END,
    failed_run = NULL, next_attempt_at = NULL,
    -- It may have a job, also where that was not noted yet. It is cleared when the job is known to be gone.
    enqueued_at = coalesce(e.enqueued_at, now())
  FROM target t
  WHERE e.source = t.source AND e.event_id = t.event_id AND e.generation = t.generation
  RETURNING e.source, e.event_id, e.generation
)
SELECT e.source, e.event_id AS "eventId", e.generation,
  CASE
    WHEN g.source IS NOT NULL THEN 'given_up'
    WHEN e.status = 'pending' THEN 'event_running'
    ELSE 'not_pending'
  END AS kind
FROM wanted JOIN millrace.events e USING (source, event_id, generation)
LEFT JOIN given_up g USING (source, event_id, generation)`;
