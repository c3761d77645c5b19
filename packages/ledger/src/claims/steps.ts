import type { EventKey } from "@millrace/core";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

/** A step of `call` that has ended. */
export interface EndedStep {
  readonly name: string;
  /** JSON; null for undefined. */
  readonly result: string | null;
}

/**
 * Records a step, if the attempt ($4) is still the event's latest. The row of the event is locked for as long as the
 * statement runs, against the record of a later attempt: either that comes first, and this finds another number, or the
 * later attempt reads the step. A step that this attempt has recorded before stays: the answer to its COMMIT was lost.
 */
const RECORD_STEP = `
WITH mine AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation FROM millrace.events e
  WHERE e.source = $1 AND e.event_id = $2 AND e.generation = $3
    AND ${IS_PENDING("e")} AND e.attempts = $4
  FOR SHARE OF e
),
recorded AS (
  INSERT INTO millrace.steps (source, event_id, generation, name, attempt, result)
  SELECT source, event_id, generation, $5, $4, $6 FROM mine
  ON CONFLICT DO NOTHING
)
SELECT true AS recorded FROM mine`;

/**
 * Records that a step has ended, in a commit of its own. `lost` when the event is not pending any longer, or a later
 * attempt has claimed it; then nothing is written. Calling it again after a lost answer changes nothing and returns the
 * same.
 *
 * @throws `database_unavailable`
 */
export async function recordStep(
  ledger: LedgerContext,
  { source, eventId, generation }: EventKey,
  attempt: number,
  { name, result }: EndedStep,
): Promise<"recorded" | "lost"> {
  const values = [source, eventId, generation, attempt, name, result];
  const query = { name: "millrace_record_step", text: RECORD_STEP, values };
  const { rows } = await runStatement(ledger.pool, query, ledger.prepared);
  return rows.length > 0 ? "recorded" : "lost";
}
