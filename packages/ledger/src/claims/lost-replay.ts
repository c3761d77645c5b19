import type { EventKey } from "@millrace/core";
import { BODY_KEPT, withPartitions } from "../schema/bodies.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

/**
 * Makes a replay pending that the ledger does not have, on the body of the latest generation before it. A body in
 * another day's partition is copied to today's, as a replay does (replay.ts).
 */
const RESTORE = `
WITH before AS MATERIALIZED (
  SELECT e.* FROM millrace.events e
  WHERE e.source = $1 AND e.event_id = $2 AND e.generation < $3 AND ${BODY_KEPT("e")}
  ORDER BY e.generation DESC LIMIT 1
),
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, body_id,
    parent_source, parent_event_id, parent_generation
  )
  SELECT source, event_id, $3, type, body_hash, unsigned, received_at, body_id,
    parent_source, parent_event_id, parent_generation
  FROM before
  ON CONFLICT DO NOTHING
  RETURNING body_day, body_id
)
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT f.body_day, b.id, b.headers, b.body
FROM fresh f CROSS JOIN before JOIN millrace.bodies b ON b.day = before.body_day AND b.id = before.body_id
WHERE before.body_day <> f.body_day
ON CONFLICT DO NOTHING`;

/**
 * Records a replay that the ledger has lost as pending, if it knows the event and has its body.
 *
 * @throws `database_unavailable`
 */
export async function restoreReplay(
  ledger: LedgerContext,
  { source, eventId, generation }: EventKey,
): Promise<void> {
  const query = { text: RESTORE, values: [source, eventId, generation] };
  await withPartitions(ledger.pool, () => runStatement(ledger.pool, query, ledger.short));
}
