import {
  failpoint,
  MillraceError,
  signedDigest,
  type IncomingEvent,
  type OnEmitted,
  type Outcome,
} from "@millrace/core";
import {
  databaseUnavailable,
  isRecordedElsewhere,
  ledgerError,
  messageOf,
} from "../connection/database-errors.ts";
import { end, type PooledConnection } from "../connection/connection.ts";
import { command, type Statement } from "../connection/pipeline.ts";
import {
  PLAN_BY_KEY,
  REFUSE_COMPLETION,
  REFUSE_TRANSACTION,
  requireCommitted,
  rollback,
} from "../connection/transaction.ts";
import { emitStatements, type Emitted } from "./emit.ts";
import { IS_PENDING, packEvents } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { CAME_BEFORE, isRepeatable, keptDigest, lockMessages, packFind } from "./same-message.ts";
import type { Guard } from "./guard.ts";
import { statement } from "../connection/statement.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";

/** The end of an attempt. `Failure` is all that is known of one that failed; `never`: thrown. */
export type AttemptEnd<Failure = { readonly error: unknown }> = (
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | ({ readonly kind: "failed" } & Failure)
  /** Another attempt has the event, or no answer came to the COMMIT: the next claim finds out. */
  | { readonly kind: "busy" }
  /** To be recorded, then attempted. With a reason, its handlers ran and were undone. */
  | { readonly kind: "record_first"; readonly reason?: UndoReason }
) & {
  /** Milliseconds that the handlers ran, without waits for a turn; undefined when none ran. */
  readonly ranMs?: number | undefined;
  readonly held?: HeldGroup | undefined;
};

export type UndoReason =
  | "slow"
  | "contended"
  | "unsafe"
  /** Another connection recorded an event of the transaction, or its COMMIT was refused. */
  | "undone";

export interface HeldGroup {
  /** Milliseconds that the rest waited for them, in all and behind a first query. */
  readonly ms: number;
  readonly behindQueryMs: number;
  readonly sentOneQuery: boolean;
  /** True when they, or queries behind theirs, had to be undone. */
  readonly isUndone: boolean;
  readonly events: number;
}

export interface Settlement {
  readonly emitted: readonly Emitted[];
  readonly transactionId: string;
  readonly onEmitted?: OnEmitted | undefined;
  readonly isGroup?: boolean;
}

/** Emits, settles, and commits in one message. A statement that cannot write all raises. */
export async function commit(
  ledger: LedgerContext,
  connection: PooledConnection,
  statements: readonly Statement[],
  { emitted, transactionId, onEmitted, isGroup = false }: Settlement,
): Promise<void> {
  const timer = setTimeout(() => connection.destroy(), ledger.short.deadlineMs);
  try {
    const unwritten = emitted.flatMap((each) => each.unwritten);
    const emitting = unwritten.length === 0 ? [] : emitStatements(ledger, unwritten, transactionId);
    const answering = end(connection, "COMMIT", [...emitting, ...statements]);
    failpoint("worker.commit_sent");
    if (isGroup) failpoint("worker.group_commit_sent");
    requireCommitted(await answering);
    if (isGroup) failpoint("worker.group_committed");
    if (emitted.length > 0) onEmitted?.(emitted.flatMap(({ all }) => all));
  } finally {
    clearTimeout(timer);
  }
}

export function settleError(error: unknown, connection: PooledConnection, guard: Guard): unknown {
  if (connection.broken) return databaseUnavailable(error);
  switch (sqlStateOf(error)) {
    case SQLSTATE.transactionAborted:
      return guard.explain(
        new MillraceError(
          "handler_failed",
          `Cannot complete the event: a query of its handler had failed: ${messageOf(guard.firstError)}`,
          { cause: guard.firstError },
        ),
      );
    case SQLSTATE.transactionChanged:
      connection.discard("uncleaned");
      return new MillraceError("tx_changed", messageOf(error), { cause: error });
    case SQLSTATE.notSettled:
      return new MillraceError("tx_control_refused", messageOf(error), { cause: error });
    default:
      return ledgerError(error);
  }
}

export interface FinishedRun {
  readonly event: IncomingEvent;
  readonly isWaiting: boolean;
  readonly outcome: Outcome;
  readonly ranMs: number;
  /** 1 when the row was recorded while the handlers ran. */
  readonly recorded: 0 | 1;
}

const ROW_COLUMNS = `source, event_id, generation, type, body_hash, unsigned, digest, received_at, recorded_at,
    pending_since, body_id, body_day, find, refused, attempts, started_at, enqueued_at, status, outcome, processed_at`;

// Inserts new events, and updates rows that are there. Raises rather than write less than all. A
// row that another connection has inserted violates the primary key. All times are of one
// `clock_timestamp()`: a list that pages by `recorded_at` would skip what was committed behind it.
// A repeatable message is looked for again: it may have been committed after `ADMIT` looked. A
// group in which a function made a temporary table is undone: later events wrote into it.
const COMPLETE_FIRST = statement(
  `
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS at),
fresh AS MATERIALIZED (
  SELECT i.*, coalesce(digest, body_hash) AS message, nextval('millrace.body_id') AS body_id
  FROM unnest(
    :eventIds::text[], :types::text[], :bodyHashes::text[], :unsigned::bool[], :receivedAtMs::float8[], :headers::text[], :bodyFrom::int[], :bodyLength::int[],
    :finds::text[], :outcomes::text[], :ranMs::float8[], :repeatable::bool[], :digests::text[]
  ) AS i (
    event_id, type, body_hash, unsigned, received_at_ms, headers, body_from, body_length,
    find, outcome, ran_ms, repeatable, digest
  )
),
inserted AS (
  INSERT INTO millrace.events (${ROW_COLUMNS})
  SELECT :source, event_id, 0, type, body_hash, unsigned, digest, to_timestamp(received_at_ms / 1000), at,
    at, body_id, (at AT TIME ZONE 'UTC')::date, find::text[], CASE WHEN repeatable THEN false END, 1,
    at - make_interval(secs => ran_ms / 1000), at, 'completed', outcome, at
  FROM fresh CROSS JOIN clock
  ORDER BY event_id
  RETURNING true
),
stored AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT (at AT TIME ZONE 'UTC')::date, body_id, headers::jsonb,
    substring(:bodies::bytea FROM body_from FOR body_length)
  FROM fresh CROSS JOIN clock
),
updated AS (
  UPDATE millrace.events e
  SET status = 'completed', outcome = i.outcome, attempts = 1, processed_at = at, next_attempt_at = NULL,
    started_at = coalesce(e.started_at, at - make_interval(secs => i.ran_ms / 1000)),
    enqueued_at = coalesce(e.enqueued_at, at)
  FROM unnest(:knownIds::text[], :knownAttempts::int[], :knownOutcomes::text[], :knownRanMs::float8[])
    AS i (event_id, attempts, outcome, ran_ms)
  CROSS JOIN clock
  CROSS JOIN LATERAL (
    SELECT ctid FROM millrace.events known
    WHERE source = :source AND event_id = i.event_id AND generation = 0
      AND ${IS_PENDING("known")} AND attempts = i.attempts AND refused IS NOT TRUE
    LIMIT 1
  ) AS mine
  WHERE e.ctid = mine.ctid AND ${IS_PENDING("e")} AND e.attempts = i.attempts
  RETURNING true
)
SELECT CASE
  WHEN pg_current_xact_id() <> :transactionId::xid8 THEN ${REFUSE_TRANSACTION}
  WHEN (SELECT count(*) FROM inserted) = cardinality(:eventIds::text[])
    AND (SELECT count(*) FROM updated) = cardinality(:knownIds::text[])
    AND NOT EXISTS (
      SELECT FROM fresh WHERE repeatable AND ${CAME_BEFORE("fresh")}
    )
    AND (:isGroup::bool IS FALSE OR pg_my_temp_schema() = 0 OR NOT EXISTS (
      SELECT FROM pg_catalog.pg_class WHERE relnamespace = pg_my_temp_schema()
    ))
  THEN true
  ELSE ${REFUSE_COMPLETION}
END AS completed`,
  "millrace_complete_first",
);

/** The same for one new event, in a third of the time. */
const completeOne = (isUnsigned: boolean) =>
  statement(
    `
WITH inserted AS (
  INSERT INTO millrace.events (${ROW_COLUMNS})
  SELECT :source, :eventId, 0, :type, :bodyHash, :unsigned, :digest,
    to_timestamp(:receivedAtMs::float8 / 1000), at, at, nextval('millrace.body_id'),
    (at AT TIME ZONE 'UTC')::date, :find::text[], ${isUnsigned ? "false" : "NULL"}, 1,
    at - make_interval(secs => :ranMs::float8 / 1000), at,
    'completed', :outcome, at
  FROM clock_timestamp() AS at
  WHERE CASE
    WHEN pg_current_xact_id() <> :transactionId::xid8 THEN ${REFUSE_TRANSACTION}${
      isUnsigned
        ? `
    WHEN (
      SELECT ${CAME_BEFORE("given")}
      FROM (SELECT :eventId::text AS event_id, :message::text AS message) AS given
    ) THEN ${REFUSE_COMPLETION}`
        : ""
    }
    ELSE true
  END
  RETURNING body_day, body_id
)
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT body_day, body_id, :headers::jsonb, :body FROM inserted`,
    isUnsigned ? "millrace_complete_unsigned" : "millrace_complete_one",
  );
const COMPLETE_ONE = completeOne(false);
const COMPLETE_UNSIGNED = completeOne(true);

export async function complete(
  ledger: LedgerContext,
  connection: PooledConnection,
  runs: readonly FinishedRun[],
  settlement: Settlement,
): Promise<AttemptEnd<never> | undefined> {
  try {
    const statements = completeStatements(ledger, runs, settlement.transactionId);
    await commit(ledger, connection, statements, settlement);
    return undefined;
  } catch (error) {
    if (connection.broken) return { kind: "busy" };
    if (!isRecordedElsewhere(error)) throw error;
    await rollback(connection);
    return { kind: "record_first", reason: "undone" };
  }
}

const isNew = ({ isWaiting, recorded }: FinishedRun) => !isWaiting && recorded === 0;

function completeStatements(
  ledger: LedgerContext,
  runs: readonly FinishedRun[],
  transactionId: string,
): Statement[] {
  const [only, ...others] = runs;
  if (only !== undefined && others.length === 0 && isNew(only)) {
    return completeOneStatements(ledger, only, transactionId);
  }
  const fresh = runs.filter(isNew);
  const known = runs.filter((run) => !isNew(run));
  const events = fresh.map(({ event }) => event);
  return [
    ...PLAN_BY_KEY.map(command),
    ...lockMessages(ledger, events),
    COMPLETE_FIRST({
      source: only?.event.source,
      transactionId,
      isGroup: runs.length > 1,
      ...packEvents(ledger, events),
      repeatable: events.map((event) => isRepeatable(ledger, event)),
      outcomes: fresh.map(({ outcome }) => outcome),
      ranMs: fresh.map(({ ranMs }) => ranMs),
      knownIds: known.map(({ event }) => event.eventId),
      knownAttempts: known.map(({ recorded }) => recorded),
      knownOutcomes: known.map(({ outcome }) => outcome),
      knownRanMs: known.map(({ ranMs }) => ranMs),
    }),
  ];
}

function completeOneStatements(
  ledger: LedgerContext,
  { event, outcome, ranMs }: FinishedRun,
  transactionId: string,
): Statement[] {
  const locking = lockMessages(ledger, [event]);
  // Field by field: an object rest costs a tenth of an attempt's own CPU.
  const values = {
    source: event.source,
    eventId: event.eventId,
    type: event.type,
    bodyHash: event.bodyHash,
    unsigned: event.unsigned,
    digest: keptDigest(event),
    message: signedDigest(event),
    receivedAtMs: event.acceptedAtMs,
    headers: JSON.stringify(event.headers),
    body: event.body,
    find: packFind(ledger, event),
    outcome,
    ranMs,
    transactionId,
  };
  return locking.length === 0
    ? [COMPLETE_ONE(values)]
    : [...PLAN_BY_KEY.map(command), ...locking, COMPLETE_UNSIGNED(values)];
}
