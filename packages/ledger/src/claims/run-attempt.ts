import {
  failpoint,
  unlessAborted,
  type EventJob,
  type EventKey,
  type HandlerTransaction,
  type IncomingEvent,
  type LockedEvent,
  type OnEmitted,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import type pg from "pg";
import {
  acquireConnection,
  releaseHandlers,
  type PooledConnection,
} from "../connection/connection.ts";
import { throwLedgerError } from "../connection/database-errors.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { pipeline } from "../connection/pipeline.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { dailyStatement, statement } from "../connection/statement.ts";
import {
  beginWith,
  handlerLimits,
  LIMIT_HANDLERS,
  PLAN_BY_KEY,
  REFUSE_TRANSACTION,
  rollback,
  rollbackAttempt,
} from "../connection/transaction.ts";
import { admit, RECORD_FIRST, type Admitted } from "./admit.ts";
import type { Emitted, EmitTarget } from "./emit.ts";
import { IS_PENDING } from "./event-batch.ts";
import { Guard } from "./guard.ts";
import { BODY_OF, CONTENT, readContent, type ContentRow } from "./read-event.ts";
import { recordRunning } from "./record.ts";
import { commit, complete, settleError, type AttemptEnd } from "./settle.ts";

export type AttemptWork<Event = LockedEvent> = (
  tx: HandlerTransaction,
  event: Event,
  target: EmitTarget,
) => Promise<Outcome>;

export interface AttemptLimits {
  readonly statementTimeoutMs: number;
  /** When it aborts, the transaction is undone and the signal's reason is thrown. */
  readonly signal: StopSignal;
  readonly onEmitted?: OnEmitted | undefined;
}

interface LockLimits extends AttemptLimits {
  /** The event's content, if the caller has the ledger's; it is read otherwise. */
  readonly event?: LockedEvent | undefined;
}

/**
 * Runs `work` and completes the event in one transaction that holds its row. `busy` when the row is
 * not pending, its attempts are not ours, or another transaction holds it for too long.
 * @throws as `runAttempt` does, and `body_missing`
 */
export async function attempt(
  ledger: LedgerContext,
  key: EventKey,
  number: number,
  work: AttemptWork,
  limits: LockLimits,
): Promise<AttemptEnd<never>> {
  const claim = { ...key, attempt: number };
  return await runAttempt(ledger, key.source, limits, work, async (connection) => {
    const locked = await lock(ledger, connection, claim, limits);
    if (locked === undefined) return { kind: "busy" };
    failpoint("worker.locked");
    const { event, transactionId, ctid } = locked;
    const settle: Claimed["settle"] = async ({ outcome, emitted }) => {
      const completed = SETTLE({ ...claim, outcome, transactionId, ctid });
      const { onEmitted } = limits;
      await commit(ledger, connection, [completed], { emitted, transactionId, onEmitted });
      return { kind: "completed", outcome };
    };
    return { event, settle };
  });
}

const VISIBLE_AFTER_MS = 250;

/**
 * Makes a first attempt: admits the event, runs `work`, and writes event and body as completed.
 * @param limits.onUnsafe - called when a statement had an effect that no savepoint undoes.
 * @throws as `runAttempt` does
 */
export async function attemptFirst(
  ledger: LedgerContext,
  job: EventJob,
  work: AttemptWork<IncomingEvent>,
  limits: AttemptLimits & { readonly onRecorded: () => void; readonly onUnsafe: () => void },
): Promise<AttemptEnd<never>> {
  const { lockTimeoutMs } = ledger;
  const { source } = job.event;
  const { statementTimeoutMs, onRecorded, onUnsafe, onEmitted } = limits;
  const late = recordLate(ledger, job, onRecorded);
  try {
    const begin: AttemptWork<Admitted> = (tx, { event, isWaiting }, target) => {
      if (!isWaiting) late.start();
      return work(tx, event, target);
    };
    return await runAttempt(ledger, source, limits, begin, async (connection) => {
      const times = { statementTimeoutMs, lockTimeoutMs };
      const { transactionId, admissions } = await admit(ledger, connection, [job.event], times);
      const [admission = RECORD_FIRST] = admissions;
      if (admission.kind !== "admitted") return admission;
      const { event, isWaiting } = admission;
      const settle: Claimed["settle"] = async ({ outcome, ranMs, emitted, isUnsafe }) => {
        if (isUnsafe) onUnsafe();
        const recorded = await late.end();
        const runs = [{ event, isWaiting, outcome, ranMs, recorded }];
        const end = await complete(ledger, connection, runs, { emitted, transactionId, onEmitted });
        return end ?? { kind: "completed", outcome };
      };
      return { event: admission, settle };
    });
  } finally {
    await late.end();
  }
}

/** Records the attempt from another connection if its handlers still run after a while. */
function recordLate(ledger: LedgerContext, job: EventJob, onRecorded: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let recording: Promise<boolean> | undefined;
  return {
    start: () => {
      timer = setTimeout(() => {
        // Whatever goes wrong, the attempt goes on: its end decides by the primary key.
        recording = recordRunning(ledger, job).catch(() => false);
      }, VISIBLE_AFTER_MS);
    },
    /** Records no more from now on; 1 when the attempt is recorded. */
    end: async (): Promise<0 | 1> => {
      clearTimeout(timer);
      if ((await recording) !== true) return 0;
      onRecorded();
      return 1;
    },
  };
}

interface Claimed<Event = unknown> {
  readonly event: Event;
  settle(ran: {
    readonly outcome: Outcome;
    readonly ranMs: number;
    readonly emitted: readonly Emitted[];
    readonly isUnsafe: boolean;
  }): Promise<AttemptEnd<never>>;
}

/**
 * Claims the event, runs `work`, and settles the event in one transaction. A query that was not
 * awaited belongs to it; a nested transaction left open fails the attempt. Only the signal limits a
 * handler's time. Without an answer to the COMMIT, the next claim finds out the outcome.
 * @throws an error of `work`; the signal's reason; `database_unavailable`, `tx_control_refused`,
 * `tx_changed`, `tx_closed`, `handler_failed`
 */
async function runAttempt<Event>(
  ledger: LedgerContext,
  source: string,
  { signal }: AttemptLimits,
  work: AttemptWork<Event>,
  claim: (connection: PooledConnection) => Promise<Claimed<Event> | AttemptEnd<never>>,
): Promise<AttemptEnd<never>> {
  if (signal.aborted) throw signal.reason;
  const connection = await acquireConnection(ledger.pool);
  try {
    const claimed = await unlessAborted(signal, claim(connection).catch(throwLedgerError));
    if ("kind" in claimed) {
      await unlessAborted(signal, rollback(connection));
      return claimed;
    }
    const guard = new Guard(ledger, connection);
    const startedMs = performance.now();
    const outcome = await runGuarded(guard, signal, () =>
      work(guard.transaction(), claimed.event, guard),
    );
    failpoint("worker.handled");
    const ranMs = performance.now() - startedMs;
    const emitted = guard.emittedIfAny === undefined ? [] : [guard.emittedIfAny];
    try {
      return await claimed.settle({ outcome, ranMs, emitted, isUnsafe: guard.isUnsafe });
    } catch (error) {
      throw settleError(error, connection, guard);
    }
  } catch (error) {
    await rollbackAttempt(connection, signal);
    throw error;
  } finally {
    releaseHandlers(ledger, connection, source);
  }
}

/** Runs `work` until it is done or the signal aborts. Waits for queries that were not awaited. */
async function runGuarded(
  guard: Guard,
  signal: StopSignal,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const run = async () => {
    const outcome = await work();
    guard.seal();
    await guard.idle();
    return outcome;
  };
  try {
    const outcome = await unlessAborted(signal, run());
    guard.check();
    return outcome;
  } catch (error) {
    throw guard.explain(error);
  } finally {
    guard.seal();
  }
}

interface LockRow {
  readonly transaction_id: string;
  /** The row's address in its table, valid for as long as that transaction lasts. */
  readonly ctid: string;
}

type LockAndReadRow = LockRow & ContentRow;

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
  { lockTimeoutMs, idleInTransactionTimeoutMs }: LedgerContext,
  { client }: PooledConnection,
  claim: EventKey & { readonly attempt: number },
  { statementTimeoutMs, event: known }: LockLimits,
) {
  const lockRow = known === undefined ? LOCK_AND_READ() : LOCK;
  const locking = pipeline(client, [
    ...beginWith(client, PLAN_BY_KEY),
    lockRow({
      ...claim,
      ...handlerLimits({ lockTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs }),
    }),
  ]);
  try {
    const row = ((await locking).at(-1) as pg.QueryResult<LockRow>).rows[0];
    if (row === undefined) return undefined;
    const { transaction_id: transactionId, ctid } = row;
    const event = known ?? (await readContent(client, row as LockAndReadRow));
    return { event, transactionId, ctid };
  } catch (error) {
    if (sqlStateOf(error) === SQLSTATE.lockNotAvailable) return undefined;
    throw error;
  }
}

/** Raises rather than write nothing: the COMMIT behind it would keep writes without the event. */
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
