import type { EventKey, Outcome } from "@millrace/core";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

const COMPLETE_CALLED = `
UPDATE millrace.events e
SET status = 'completed', outcome = $5, processed_at = clock_timestamp()
WHERE e.source = $1 AND e.event_id = $2 AND e.generation = $3
  AND ${IS_PENDING("e")} AND e.attempts = $4
RETURNING true AS completed`;

/**
 * Completes an event whose handlers write nothing, in one round trip. `lost` when the event is not pending any longer,
 * or a later attempt has claimed it.
 *
 * @throws `database_unavailable`: then it may be completed, and the next claim tells
 */
export async function completeCalled(
  ledger: LedgerContext,
  { source, eventId, generation }: EventKey,
  attempt: number,
  outcome: Outcome,
): Promise<"completed" | "lost"> {
  const values = [source, eventId, generation, attempt, outcome];
  const query = { name: "millrace_complete_called", text: COMPLETE_CALLED, values };
  const { rows } = await runStatement(ledger.pool, query, ledger.prepared);
  return rows.length > 0 ? "completed" : "lost";
}
