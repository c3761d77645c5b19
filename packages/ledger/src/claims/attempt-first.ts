import {
  failpoint,
  unlessAborted,
  type EventJob,
  type HandlerTransaction,
  type IncomingEvent,
  type OnEmitted,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import { admit } from "./admit.ts";
import { complete } from "./complete-first.ts";
import { acquireConnection } from "../connection/connection.ts";
import type { EmitTarget } from "./emit.ts";
import { ledgerError } from "../connection/database-errors.ts";
import { releaseHandlers, type LedgerContext } from "../connection/ledger-context.ts";
import { recordRunning } from "./record.ts";
import { runGuarded, settleError, undo } from "./run-guarded.ts";
import { rollback } from "../connection/transaction.ts";

const VISIBLE_AFTER_MS = 250;

export type FirstWork = (
  tx: HandlerTransaction,
  event: IncomingEvent,
  target: EmitTarget,
) => Promise<Outcome>;

export type FirstAttemptEnd =
  | "completed"
  | "busy"
  /** Nothing ran: the event is to be recorded. */
  | "record_first"
  | "undone"
  /** It ran, and the answer to its COMMIT did not come: the next claim finds out. */
  | "unknown";

export interface FirstAttemptLimits {
  readonly statementTimeoutMs: number;
  /** When it aborts, the transaction is undone and the signal's reason is thrown. */
  readonly signal: StopSignal;
  /** Called when the attempt was recorded while its handlers ran. */
  readonly onRecorded: () => void;
  /** Called when a statement of the handlers had an effect that no savepoint undoes. */
  readonly onUnsafe: () => void;
  readonly onEmitted?: OnEmitted | undefined;
}

/**
 * Makes the first attempt of an event in one transaction: admits the event, runs `work`, and
 * writes the event and its body as completed. An error of `work` undoes all of it. Another
 * connection records an attempt that still runs after 250 ms.
 * @throws what `work` threw; the signal's reason; `database_unavailable`, `tx_control_refused`,
 * `tx_changed`, `tx_closed`, `handler_failed`
 */
export async function attemptFirst(
  ledger: LedgerContext,
  job: EventJob,
  work: FirstWork,
  limits: FirstAttemptLimits,
): Promise<FirstAttemptEnd> {
  const { signal, statementTimeoutMs, onEmitted } = limits;
  if (signal.aborted) throw signal.reason;
  const connection = await acquireConnection(ledger.pool);
  const late = new LateRecord(ledger, job, limits.onRecorded);
  try {
    const { lockTimeoutMs } = ledger;
    const admitting = admit(ledger, connection.client, [job.event], {
      statementTimeoutMs,
      lockTimeoutMs,
    });
    const { transactionId, admissions } = await unlessAborted(signal, asLedgerError(admitting));
    const [admission] = admissions;
    if (admission?.kind !== "admitted") {
      await unlessAborted(signal, rollback(connection));
      return admission?.kind ?? "record_first";
    }
    const { event, isWaiting } = admission;
    if (!isWaiting) late.start();
    const startedMs = performance.now();
    const { guard, outcome } = await runGuarded(
      connection,
      signal,
      (tx, target) => work(tx, event, target),
      ledger.tables,
    );
    failpoint("worker.handled");
    if (guard.isUnsafe) limits.onUnsafe();
    const recorded = await late.end();
    const ranMs = performance.now() - startedMs;
    const emitted = guard.emittedIfAny === undefined ? [] : [guard.emittedIfAny];
    const run = { event, isWaiting, outcome, ranMs, recorded };
    try {
      return await complete(ledger, connection, { runs: [run], emitted, transactionId, onEmitted });
    } catch (error) {
      throw settleError(error, connection, guard);
    }
  } catch (error) {
    await undo(connection, signal);
    throw error;
  } finally {
    await late.end();
    releaseHandlers(ledger, connection, job.event.source);
  }
}

async function asLedgerError<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw ledgerError(error);
  }
}

class LateRecord {
  readonly #ledger: LedgerContext;
  readonly #job: EventJob;
  readonly #onRecorded: () => void;
  #timer: NodeJS.Timeout | undefined;
  #recording: Promise<boolean> | undefined;

  constructor(ledger: LedgerContext, job: EventJob, onRecorded: () => void) {
    this.#ledger = ledger;
    this.#job = job;
    this.#onRecorded = onRecorded;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#recording = this.#record();
    }, VISIBLE_AFTER_MS);
  }

  /** Records no more from now on; 1 when the attempt is recorded. */
  async end(): Promise<0 | 1> {
    clearTimeout(this.#timer);
    return (await this.#recording) === true ? 1 : 0;
  }

  // Whatever goes wrong, the attempt goes on: its end decides by the primary key.
  async #record(): Promise<boolean> {
    try {
      const isRecorded = await recordRunning(this.#ledger, this.#job);
      if (isRecorded) this.#onRecorded();
      return isRecorded;
    } catch {
      return false;
    }
  }
}
