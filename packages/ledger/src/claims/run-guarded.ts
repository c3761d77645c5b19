import {
  MillraceError,
  unlessAborted,
  type HandlerTransaction,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import { databaseUnavailable, ledgerError, messageOf } from "../connection/database-errors.ts";
import type { EmitTarget } from "./emit.ts";
import { Guard } from "./guard.ts";
import type { PooledConnection } from "../connection/connection.ts";
import type { UserTables } from "../connection/ledger-context.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { rollback } from "../connection/transaction.ts";

/**
 * Runs `work` with a transaction until it is done or the signal aborts. Waits for queries that
 * were not awaited; a nested transaction that was left open is an error.
 */
export async function runGuarded(
  connection: PooledConnection,
  signal: StopSignal,
  work: (tx: HandlerTransaction, target: EmitTarget) => Promise<Outcome>,
  tables: UserTables | undefined,
): Promise<{ guard: Guard; outcome: Outcome }> {
  const guard = new Guard(connection);
  try {
    const run = async () => {
      const outcome = await work(guard.transaction(tables), guard);
      guard.seal();
      await guard.idle();
      return outcome;
    };
    const outcome = await unlessAborted(signal, run());
    guard.check();
    return { guard, outcome };
  } catch (error) {
    throw guard.explain(error);
  } finally {
    guard.seal();
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

// A stopped attempt may still have a query running: its connection is cut.
export async function undo(connection: PooledConnection, signal: StopSignal): Promise<void> {
  if (signal.aborted) {
    connection.destroy();
    return;
  }
  try {
    await unlessAborted(signal, rollback(connection));
  } catch {
    connection.destroy();
  }
}
