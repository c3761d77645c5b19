import {
  MillraceError,
  type HandlerTransaction,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import { databaseUnavailable, ledgerError, messageOf } from "./database-errors.ts";
import { Guard, handlerTransaction } from "./guard.ts";
import type { Lease } from "./connection.ts";
import { SQLSTATE, sqlStateOf } from "./sqlstate.ts";
import { rollback } from "./transaction.ts";

/**
 * Runs `work` with a transaction of its own making until it is done or the signal aborts. A query that
 * was not awaited is waited for; a nested transaction that was left open is an error.
 */
export async function runGuarded(
  held: Lease,
  signal: StopSignal,
  work: (tx: HandlerTransaction) => Promise<Outcome>,
): Promise<{ guard: Guard; outcome: Outcome }> {
  const guard = new Guard(held);
  try {
    const run = async () => {
      const outcome = await work(handlerTransaction(guard));
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

/** What to throw when the statement that completes the event, or its COMMIT, has failed. */
export function settleError(error: unknown, held: Lease, guard: Guard): unknown {
  if (held.broken) return databaseUnavailable(error);
  switch (sqlStateOf(error)) {
    case SQLSTATE.transactionAborted:
      return guard.explain(
        new MillraceError(
          "handler_failed",
          `Cannot complete the event: a query of its handler had failed: ${messageOf(guard.firstError)}`,
          { cause: guard.firstError },
        ),
      );
    case SQLSTATE.notSettled:
      return new MillraceError("tx_control_refused", messageOf(error), { cause: error });
    default:
      return ledgerError(error);
  }
}

// An attempt that was stopped may still have a query running, so its connection is cut and not asked.
export async function undo(held: Lease, signal: StopSignal): Promise<void> {
  if (signal.aborted) {
    held.destroy();
    return;
  }
  try {
    await unlessAborted(signal, rollback(held));
  } catch {
    held.destroy();
  }
}

/**
 * Waits for a promise, but no longer than until the signal aborts.
 *
 * @throws the signal's reason, as its owner gave it
 */
export function unlessAborted<T>(signal: StopSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
    promise.finally(() => signal.removeEventListener("abort", stop)).then(resolve, reject);
  });
}
