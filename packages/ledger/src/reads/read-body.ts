import { isStorable, type EventLookup } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { queryRows } from "../connection/rows.ts";

export interface BodyPart {
  /** The event's generation: the latest, unless one was asked for. */
  readonly generation: number;
  /** Bytes of the whole body; null when it is no longer kept. */
  readonly bodyBytes: number | null;
  readonly part: Uint8Array | null;
}

const READ_PART = `
SELECT e.generation, octet_length(b.body) AS "bodyBytes",
  substring(b.body FROM $4::int + 1 FOR $5::int) AS part
FROM (
  SELECT generation, body_day, body_id FROM millrace.events
  WHERE source = $1 AND event_id = $2 AND ($3::int IS NULL OR generation = $3)
  ORDER BY generation DESC LIMIT 1
) e
LEFT JOIN millrace.conflicts c ON c.source = $1 AND c.event_id = $2 AND c.body_hash = $6
LEFT JOIN millrace.bodies b ON b.day = CASE WHEN $6 IS NULL THEN e.body_day ELSE c.body_day END
  AND b.id = CASE WHEN $6 IS NULL THEN e.body_id ELSE c.body_id END`;

/** @param range.bodyHash - reads the other body of a conflict instead of the event's own. */
export async function readBody(
  ledger: LedgerContext,
  { source, eventId, generation }: EventLookup,
  { offset, length, bodyHash }: { offset: number; length: number; bodyHash?: string | undefined },
): Promise<BodyPart | undefined> {
  if (!isStorable(source) || !isStorable(eventId)) return undefined;
  const values = [source, eventId, generation ?? null, offset, length, bodyHash ?? null];
  return (await queryRows<BodyPart>(ledger, READ_PART, values))[0];
}
