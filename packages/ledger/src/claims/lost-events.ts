import type { EnvelopedEvent, EventKey, IncomingEvent } from "@millrace/core";
import { BODY_KEPT, withPartitions } from "../schema/bodies.ts";
import { keptDigest } from "./same-message.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement, type Send } from "../connection/transaction.ts";

// Its row reserves the id of a body, which its sender's redelivery fills.

const RECORD_BODILESS = `
INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned, digest, received_at, body_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), nextval('millrace.body_id'))
ON CONFLICT DO NOTHING`;

export async function recordWithoutBody(send: Send, event: EnvelopedEvent): Promise<void> {
  const { source, eventId, generation, type, bodyHash, unsigned, acceptedAtMs } = event;
  const identity = [source, eventId, generation, type, bodyHash, unsigned, keptDigest(event)];
  await send({ text: RECORD_BODILESS, values: [...identity, acceptedAtMs] });
}

/** The day's bodies may have been dropped since. */
const RESTORE_BODY = `
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT e.body_day, e.body_id, $4::jsonb, $5::bytea
FROM millrace.events e
WHERE e.source = $1 AND e.event_id = $2 AND e.generation = 0 AND e.body_hash = $3
  AND e.status = 'failed' AND e.last_error_code = 'body_lost' AND NOT ${BODY_KEPT("e")}
  AND to_regclass('millrace.bodies_' || to_char(e.body_day, 'YYYYMMDD')) IS NOT NULL
ON CONFLICT DO NOTHING`;

/** Keeps the redelivered body of an event whose body was lost; true when it was needed. */
export async function restoreBody(
  ledger: LedgerContext,
  { source, eventId, bodyHash, headers, body }: IncomingEvent,
): Promise<boolean> {
  const query = {
    text: RESTORE_BODY,
    values: [source, eventId, bodyHash, JSON.stringify(headers), body],
  };
  const { rowCount } = await runStatement(ledger.pool, query, ledger.short);
  return rowCount === 1;
}

/** A body of another day is copied to today's partition, as a replay does. */
const RESTORE_REPLAY = `
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

export async function restoreReplay(
  ledger: LedgerContext,
  { source, eventId, generation }: EventKey,
): Promise<void> {
  const query = { text: RESTORE_REPLAY, values: [source, eventId, generation] };
  await withPartitions(ledger.pool, () => runStatement(ledger.pool, query, ledger.short));
}
