import {
  bodyHash,
  EDITED_HEADER,
  EDITED_MARK,
  MillraceError,
  type EnvelopedEvent,
  type EventLookup,
} from "@millrace/core";
import { isStorableKey } from "../claims/event-batch.ts";
import { packFind } from "../claims/same-message.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { eventColumn } from "../repair/ledger-status.ts";

export interface Edit {
  readonly body: Uint8Array;
  /** Default: the type of the event that is edited. */
  readonly type?: string | undefined;
}

// Numbers the edited events of one event. Two calls at once can take the same number: the second
// inserts nothing and is sent again. Its trace is not the delivery's.
const SEND_EDITED = `
WITH origin AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation, coalesce($7, e.type) AS type,
    coalesce(e.own_headers, b.headers, '{}') - 'traceparent' || jsonb_build_object('${EDITED_HEADER}', e.event_id) AS headers,
    e.event_id || '${EDITED_MARK}' || (1 + (
      SELECT count(*) FROM millrace.events sent
      WHERE sent.parent_source = e.source AND sent.parent_event_id = e.event_id
        AND sent.source = e.source AND sent.generation = 0
    )) AS edited_id
  FROM millrace.events e LEFT JOIN millrace.bodies b ON b.day = e.body_day AND b.id = e.body_id
  WHERE e.source = $1 AND e.event_id = $2 AND ($3::int IS NULL OR e.generation = $3)
  ORDER BY e.generation DESC LIMIT 1
),
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, body_id, find,
    parent_source, parent_event_id, parent_generation
  )
  SELECT source, edited_id, 0, type, $4, false, now(), nextval('millrace.body_id'), $6::text[],
    source, event_id, generation
  FROM origin
  ON CONFLICT DO NOTHING
  RETURNING *
),
stored AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT fresh.body_day, fresh.body_id, origin.headers, $5 FROM fresh CROSS JOIN origin
)
SELECT ${eventColumn("f", "f.generation")} FROM origin LEFT JOIN fresh f ON true`;

/** So many calls at once find a number each. */
const TRIES = 10;

/**
 * Records a new event of the same source, `<id>.edited-<n>`, whose parent is the event. The caller
 * enqueues its job. Undefined when the ledger has no such event.
 */
export async function sendEdited(
  ledger: LedgerContext,
  lookup: EventLookup,
  { body, type }: Edit,
): Promise<EnvelopedEvent | undefined> {
  if (!isStorableKey(lookup)) return undefined;
  const { source, eventId, generation } = lookup;
  const find = packFind(ledger, { source, body });
  const values = [source, eventId, generation, bodyHash(body), body, find, type];
  const query = { name: "millrace_send_edited", text: SEND_EDITED, values };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { rows } = await ledger.send<{ event: Partial<EnvelopedEvent> }>(query);
    const [found] = rows;
    if (found === undefined) return undefined;
    if (found.event.eventId !== undefined) return found.event as EnvelopedEvent;
  }
  throw new MillraceError("unavailable", "Cannot send the edited event: try again");
}
