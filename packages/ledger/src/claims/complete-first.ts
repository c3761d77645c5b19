import { failpoint, type IncomingEvent, type OnEmitted, type Outcome } from "@millrace/core";
import { pipeline, type Lease } from "../connection/connection.ts";
import { emitStatements, type Emitted } from "./emit.ts";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { CAME_BEFORE, keptDigest } from "./same-message.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { REFUSE_TRANSACTION } from "./run-guarded.ts";
import { PLAN_BY_KEY, requireCommitted, rollback } from "../connection/transaction.ts";
import { endOf } from "../connection/transaction-end.ts";

/** A first attempt whose handlers have run. */
export interface FinishedRun {
  readonly event: IncomingEvent;
  /** True when the ledger had its row before. */
  readonly isWaiting: boolean;
  readonly outcome: Outcome;
  /** Milliseconds since the handlers began. */
  readonly ranMs: number;
  readonly bodyDedup: boolean;
  /** Attempts that the ledger has counted: 1 when the row was recorded while the handlers ran. */
  readonly recorded: 0 | 1;
}

/**
 * Writes first attempts as completed: those of new events with their bodies, and those whose row is
 * there already. It raises instead of writing less than all of them, so that the COMMIT which is sent
 * right behind it cannot keep a handler's writes without its event being completed. A row that another
 * connection has inserted meanwhile violates the primary key; the identity lock is not relied upon.
 *
 * All times are of one `clock_timestamp()`, and not of the transaction's beginning: a list that pages by
 * `recorded_at` would otherwise skip what was committed behind it. A message whose id nobody signed is looked
 * for again, because it may have been committed after `ADMIT` looked.
 *
 * A group ($20) in which a function has made a temporary table is undone too: what later events wrote to a table of
 * that name is not where it belongs.
 */
const COMPLETE_FIRST = `
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS at),
fresh AS MATERIALIZED (
  SELECT i.*, coalesce(digest, body_hash) AS message, nextval('millrace.body_id') AS body_id
  FROM unnest(
    $2::text[], $3::text[], $4::text[], $5::bool[], $6::float8[], $7::text[], $8::int[], $9::int[],
    $10::text[], $11::float8[], $12::bool[], $19::text[]
  ) AS i (
    event_id, type, body_hash, unsigned, received_at_ms, headers, body_from, body_length,
    outcome, ran_ms, body_dedup, digest
  )
),
inserted AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, digest, received_at, recorded_at,
    pending_since, body_id, body_day, attempts, started_at, enqueued_at, status, outcome, processed_at
  )
  SELECT $1, event_id, 0, type, body_hash, unsigned, digest, to_timestamp(received_at_ms / 1000), at,
    at, body_id, (at AT TIME ZONE 'UTC')::date, 1, at - make_interval(secs => ran_ms / 1000), at,
    'completed', outcome, at
  FROM fresh CROSS JOIN clock
  ORDER BY event_id
  RETURNING true
),
stored AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT (at AT TIME ZONE 'UTC')::date, body_id, headers::jsonb,
    substring($13::bytea FROM body_from FOR body_length)
  FROM fresh CROSS JOIN clock
),
updated AS (
  UPDATE millrace.events e
  SET status = 'completed', outcome = i.outcome, attempts = 1, processed_at = at, next_attempt_at = NULL,
    started_at = coalesce(e.started_at, at - make_interval(secs => i.ran_ms / 1000)),
    enqueued_at = coalesce(e.enqueued_at, at)
  FROM unnest($14::text[], $15::int[], $16::text[], $17::float8[])
    AS i (event_id, attempts, outcome, ran_ms)
  CROSS JOIN clock
  CROSS JOIN LATERAL (
    SELECT ctid FROM millrace.events known
    WHERE source = $1 AND event_id = i.event_id AND generation = 0
      AND ${IS_PENDING("known")} AND attempts = i.attempts
    LIMIT 1
  ) AS mine
  WHERE e.ctid = mine.ctid AND ${IS_PENDING("e")} AND e.attempts = i.attempts
  RETURNING true
)
SELECT CASE
  WHEN pg_current_xact_id() <> $18::xid8 THEN ${REFUSE_TRANSACTION}
  WHEN (SELECT count(*) FROM inserted) = cardinality($2::text[])
    AND (SELECT count(*) FROM updated) = cardinality($14::text[])
    AND NOT EXISTS (
      SELECT FROM fresh WHERE body_dedup AND unsigned AND ${CAME_BEFORE("fresh")}
    )
    AND ($20::bool IS FALSE OR pg_my_temp_schema() = 0 OR NOT EXISTS (
      SELECT FROM pg_catalog.pg_class WHERE relnamespace = pg_my_temp_schema()
    ))
  THEN true
  ELSE millrace.refuse('Cannot complete first attempts: they are not all this transaction''s to complete')
END AS completed`;

/** First attempts that end in one transaction. */
interface Completion {
  readonly runs: readonly FinishedRun[];
  /** What their handlers have emitted. */
  readonly emitted: readonly Emitted[];
  readonly transactionId: string;
  readonly onEmitted?: OnEmitted | undefined;
}

/**
 * Completes first attempts in their transaction, with what their handlers have emitted.
 *
 * @throws what Postgres says of the handlers' writes
 */
export async function complete(
  { short }: LedgerContext,
  held: Lease,
  completion: Completion,
): Promise<"completed" | "undone" | "unknown"> {
  const timer = setTimeout(() => held.destroy(), short.deadlineMs);
  const { runs, emitted, onEmitted } = completion;
  try {
    await completeFirst(held, completion, () => {
      failpoint("worker.commit_sent");
      if (runs.length > 1) failpoint("worker.group_commit_sent");
    });
    if (runs.length > 1) failpoint("worker.group_committed");
    if (emitted.length > 0) onEmitted?.(emitted.flatMap(({ all }) => all));
    return "completed";
  } catch (error) {
    if (held.broken) return "unknown";
    if (isRecordedElsewhere(error)) {
      await rollback(held);
      return "undone";
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The primary key, or COMPLETE_FIRST itself, says that the event is another's by now. */
function isRecordedElsewhere(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === SQLSTATE.notSettled || (state === SQLSTATE.uniqueViolation && isOfLedger(error));
}

/** True for an error about a table of the ledger, and not one of the user's. */
export function isOfLedger(error: unknown): boolean {
  return error instanceof Error && "schema" in error && error.schema === "millrace";
}

/** Sends the statement and the COMMIT. `onSent` is called before the answer comes. */
async function completeFirst(
  held: Lease,
  { runs, emitted, transactionId }: Completion,
  onSent: () => void,
): Promise<void> {
  const isNew = ({ isWaiting, recorded }: FinishedRun) => !isWaiting && recorded === 0;
  const fresh = runs.filter(isNew);
  const known = runs.filter((run) => !isNew(run));
  let from = 1;
  const bodyFrom = fresh.map(
    ({ event }) => (from += event.body.byteLength) - event.body.byteLength,
  );
  const answering = pipeline(held.client, [
    ...emitStatements(
      emitted.flatMap(({ unwritten }) => unwritten),
      transactionId,
    ),
    { text: PLAN_BY_KEY },
    {
      name: "millrace_complete_first",
      text: COMPLETE_FIRST,
      values: [
        runs[0]?.event.source,
        fresh.map(({ event }) => event.eventId),
        fresh.map(({ event }) => event.type),
        fresh.map(({ event }) => event.bodyHash),
        fresh.map(({ event }) => event.unsigned),
        fresh.map(({ event }) => event.acceptedAtMs),
        fresh.map(({ event }) => JSON.stringify(event.headers)),
        bodyFrom,
        fresh.map(({ event }) => event.body.byteLength),
        fresh.map(({ outcome }) => outcome),
        fresh.map(({ ranMs }) => ranMs),
        fresh.map(({ bodyDedup }) => bodyDedup),
        Buffer.concat(fresh.map(({ event }) => event.body)),
        known.map(({ event }) => event.eventId),
        known.map(({ recorded }) => recorded),
        known.map(({ outcome }) => outcome),
        known.map(({ ranMs }) => ranMs),
        transactionId,
        fresh.map(({ event }) => keptDigest(event)),
        runs.length > 1,
      ],
    },
    endOf(held, "COMMIT"),
  ]);
  onSent();
  requireCommitted((await answering).at(-1));
}
