import type { EnvelopedEvent, IncomingEvent } from "@millrace/core";
import { BODY_KEPT } from "../schema/bodies.ts";
import { keptDigest } from "./same-message.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement, type Send } from "../connection/transaction.ts";

// An event whose row and body Postgres has lost, and whose job carries no body: it is recorded as failed with the code
// `body_lost`. Its row names a place for the body, and its sender's redelivery fills it.

const RECORD = `
INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned, digest, received_at, body_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), nextval('millrace.body_id'))
ON CONFLICT DO NOTHING`;

/** Records an event as pending without its body, for the caller to fail in the same transaction. */
export async function recordWithoutBody(send: Send, event: EnvelopedEvent): Promise<void> {
  const { source, eventId, generation, type, bodyHash, unsigned, acceptedAtMs } = event;
  const identity = [source, eventId, generation, type, bodyHash, unsigned, keptDigest(event)];
  await send({ text: RECORD, values: [...identity, acceptedAtMs] });
}

/** The day's bodies may have been dropped since. */
const RESTORE = `
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT e.body_day, e.body_id, $4::jsonb, $5::bytea
FROM millrace.events e
WHERE e.source = $1 AND e.event_id = $2 AND e.generation = 0 AND e.body_hash = $3
  AND e.status = 'failed' AND e.last_error_code = 'body_lost' AND NOT ${BODY_KEPT("e")}
  AND to_regclass('millrace.bodies_' || to_char(e.body_day, 'YYYYMMDD')) IS NOT NULL
ON CONFLICT DO NOTHING`;

/**
 * Keeps the body that a sender has delivered again of an event whose body was lost; true when it was needed.
 *
 * @throws `database_unavailable`
 */
export async function restoreBody(
  ledger: LedgerContext,
  { source, eventId, bodyHash, headers, body }: IncomingEvent,
): Promise<boolean> {
  const query = {
    text: RESTORE,
    values: [source, eventId, bodyHash, JSON.stringify(headers), body],
  };
  const { rowCount } = await runStatement(ledger.pool, query, ledger.short);
  return rowCount === 1;
}
