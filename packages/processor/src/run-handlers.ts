import type { HandlerTransaction, LockedEvent, Outcome, QueuedEvent } from "@millrace/core";
import type { Dispatcher } from "./dispatcher.ts";
import { createWebhookEvent } from "./webhook-event.ts";

/** What the handlers of one attempt are run on, and with. */
export interface HandlerRun {
  readonly job: QueuedEvent;
  readonly attempt: number;
  readonly locked: LockedEvent;
  readonly tx: HandlerTransaction;
  readonly signal: AbortSignal;
}

/**
 * Runs every handler that hears the event, one after the other in the one transaction; `ignored`
 * when none does, `suspected_replay` when none is to hear it. What a handler returns is of no account.
 */
export async function runHandlers(run: HandlerRun, dispatch: Dispatcher): Promise<Outcome> {
  const { job, attempt, locked, tx, signal } = run;
  if (locked.suspectedReplay) return "suspected_replay";
  const handlers = dispatch(job.event.source, job.event.type);
  if (handlers.length === 0) return "ignored";
  const event = createWebhookEvent(job.event, attempt, locked);
  for (const handle of handlers) {
    signal.throwIfAborted();
    await handle(event, { tx, signal });
  }
  return "handled";
}
