import {
  failpoint,
  unlessAborted,
  type EventKey,
  type HandlerTransaction,
  type Outcome,
  type AttemptLimits,
  type LockedEvent,
} from "@millrace/core";
import type pg from "pg";
import { ledgerError } from "../connection/database-errors.ts";
import { IS_PENDING } from "./event-batch.ts";
import type { Guard } from "./guard.ts";
import { SessionSettings } from "../connection/pinned-settings.ts";
import { acquireConnection, type PooledConnection, endOf } from "../connection/connection.ts";
import {
  PLAN_BY_KEY,
  LIMIT_HANDLERS,
  handlerLimits,
  REFUSE_TRANSACTION,
  pipeline,
  requireCommitted,
  rollback,
} from "../connection/transaction.ts";
import { emitStatements, type EmitTarget } from "./emit.ts";
import { releaseHandlers, type LedgerContext } from "../connection/ledger-context.ts";
import { BODY_OF, CONTENT, readContent, type ContentRow } from "./read-event.ts";
import { runGuarded, settleError, undo } from "./run-guarded.ts";
import { dailyStatement, statement } from "../connection/statement.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";

interface AttemptClaim {
  readonly key: EventKey;
  readonly attempt: number;
}

export type AttemptWork = (
  tx: HandlerTransaction,
  event: LockedEvent,
  target: EmitTarget,
) => Promise<Outcome>;

/**
 * Runs `work` in a transaction that holds the event's row, and completes the event in that same
 * transaction, with the events that its handlers emitted. An error of `work` undoes all of it.
 * `lost` when the row is no longer pending, its attempts are not ours, or another transaction
 * holds it for too long. A query that the handler did not await
 * belongs to the transaction; a nested transaction that it left open fails the attempt. The signal
 * ends the attempt until the event is completed; nothing else here limits a handler's time. When
 * the connection is lost before the answer to the COMMIT, the outcome is unknown
 * (`database_unavailable`), and the next claim finds out.
 * @throws an error of `work`; the signal's reason; `database_unavailable`, `tx_control_refused`,
 * `tx_changed`, `tx_closed`, `handler_failed`, `body_missing`
 */
export async function attempt(
  ledger: LedgerContext,
  key: EventKey,
  number: number,
  work: AttemptWork,
  limits: AttemptLimits,
): Promise<"completed" | "lost"> {
  const claim = { key, attempt: number };
  const { signal } = limits;
  if (signal.aborted) throw signal.reason;
  const connection = await acquireConnection(ledger.pool);
  try {
    const locked = await unlessAborted(signal, lock(ledger, connection, claim, limits));
    if (locked === undefined) {
      await unlessAborted(signal, rollback(connection));
      return "lost";
    }
    failpoint("worker.locked");
    const { guard, outcome } = await runGuarded(
      connection,
      signal,
      (tx, target) => work(tx, locked.event, target),
      ledger.tables,
    );
    failpoint("worker.handled");
    await settle(ledger, connection, { claim, outcome, locked, guard });
    if (guard.emittedIfAny !== undefined) limits.onEmitted?.(guard.emittedIfAny.all);
    return "completed";
  } catch (error) {
    await undo(connection, signal);
    throw error;
  } finally {
    releaseHandlers(ledger, connection, key.source);
  }
}

interface RowLock {
  readonly event: LockedEvent;
  readonly transactionId: string;
  /** The row's address in its table, valid for as long as that transaction lasts. */
  readonly ctid: string;
}

interface LockRow {
  readonly transaction_id: string;
  readonly ctid: string;
}

type LockAndReadRow = LockRow & ContentRow;

/** Locks an attempt's event and sets the handler's limits. */
const lockText = ({ columns = "", join = "" } = {}) => `
WITH limits AS MATERIALIZED (
  SELECT ${LIMIT_HANDLERS}
)
SELECT e.ctid::text AS ctid, pg_current_xact_id()::text AS transaction_id${columns}
FROM limits CROSS JOIN millrace.events e ${join}
WHERE e.source = :source AND e.event_id = :eventId AND e.generation = :generation
  AND ${IS_PENDING("e")} AND e.attempts = :attempt
FOR UPDATE OF e`;

const LOCK = statement(lockText(), "millrace_lock");
const LOCK_AND_READ = dailyStatement(
  (day) => lockText({ columns: `, ${CONTENT}`, join: BODY_OF(day) }),
  "millrace_lock",
);

async function lock(
  ledger: LedgerContext,
  connection: PooledConnection,
  claim: AttemptClaim,
  limits: AttemptLimits,
): Promise<RowLock | undefined> {
  try {
    return await lockEvent(ledger, connection, claim, limits);
  } catch (error) {
    if (sqlStateOf(error) === SQLSTATE.lockNotAvailable) return undefined;
    throw ledgerError(error);
  }
}

/** Undefined when the event is not pending or a later attempt has claimed it. */
async function lockEvent(
  { lockTimeoutMs, idleInTransactionTimeoutMs }: LedgerContext,
  { client }: PooledConnection,
  { key, attempt: number }: AttemptClaim,
  { statementTimeoutMs, event: known }: AttemptLimits,
): Promise<RowLock | undefined> {
  const lockRow = known === undefined ? LOCK_AND_READ() : LOCK;
  const [, answer] = await pipeline(client, [
    { text: `${SessionSettings.beginText(client)}; ${PLAN_BY_KEY}` },
    lockRow({
      ...key,
      attempt: number,
      ...handlerLimits({ lockTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs }),
    }),
  ]);
  const row = (answer as pg.QueryResult<LockRow>).rows[0];
  if (row === undefined) return undefined;
  const { transaction_id: transactionId, ctid } = row;
  const event = known ?? (await readContent(client, row as LockAndReadRow));
  return { event, transactionId, ctid };
}

interface Settling {
  readonly claim: AttemptClaim;
  readonly outcome: Outcome;
  readonly locked: RowLock;
  readonly guard: Guard;
}

/**
 * Completes an attempt's event in the transaction that locked it. Raises instead of writing
 * nothing, so that the COMMIT right behind it cannot keep a handler's writes without the event.
 */
const SETTLE = statement(
  `
WITH settled AS (
  UPDATE millrace.events
  SET status = 'completed', outcome = :outcome, processed_at = clock_timestamp()
  WHERE ctid = :ctid::tid
    AND source = :source AND event_id = :eventId AND generation = :generation
    AND status = 'pending' AND attempts = :attempt
    AND pg_current_xact_id() = :transactionId::xid8
  RETURNING true AS done
)
SELECT CASE
  WHEN EXISTS (SELECT FROM settled) THEN true
  WHEN pg_current_xact_id() <> :transactionId::xid8 THEN ${REFUSE_TRANSACTION}
  ELSE millrace.refuse('Cannot complete the event: its handler has changed it')
END AS settled`,
  "millrace_settle",
);

async function settle(
  ledger: LedgerContext,
  connection: PooledConnection,
  settling: Settling,
): Promise<void> {
  const { claim, outcome, locked, guard } = settling;
  const { transactionId, ctid } = locked;
  const timer = setTimeout(() => connection.destroy(), ledger.short.deadlineMs);
  try {
    const answering = pipeline(connection.client, [
      ...emitStatements(guard.emittedIfAny?.unwritten ?? [], transactionId),
      SETTLE({ ...claim.key, attempt: claim.attempt, outcome, transactionId, ctid }),
      endOf(connection, "COMMIT"),
    ]);
    failpoint("worker.commit_sent");
    requireCommitted((await answering).at(-1));
  } catch (error) {
    throw settleError(error, connection, guard);
  } finally {
    clearTimeout(timer);
  }
}
