import type { EnvelopedEvent, EventLookup } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { isStorableKey, packKeys } from "../claims/event-batch.ts";
import { BODY_KEPT } from "../schema/bodies.ts";
import { eventColumn } from "../repair/ledger-status.ts";

export type ReplayAnswer =
  /** It is pending as a new generation. The caller enqueues its job. */
  | { readonly kind: "replayed"; readonly event: EnvelopedEvent }
  /** `not_settled`: its latest generation is pending; it is running or about to run. */
  | { readonly kind: "not_settled" | "superseded" | "not_found" | "body_missing" };

/**
 * Makes settled events pending as a new generation: one answer for each lookup, in order. A
 * generation that is given must be the latest. Of two calls at once, one replays an event.
 * @param options.bodyHash - runs the other body of a conflict instead of the event's own.
 */
export async function replay(
  { send }: Pick<LedgerContext, "send">,
  lookups: readonly EventLookup[],
  { bodyHash }: { readonly bodyHash?: string | undefined } = {},
): Promise<readonly ReplayAnswer[]> {
  const storable = lookups.filter(isStorableKey);
  const wanted = new Map(storable.map((lookup) => [nameOf(lookup), lookup] as const));
  const found = new Map<string, Row>();
  const ask = async (asked: readonly EventLookup[]) => {
    const values = [...packKeys(asked), bodyHash ?? null];
    const { rows } = await send<Row>({ name: "millrace_replay", text: REPLAY, values });
    for (const row of rows) {
      found.set(nameOf({ ...row.event, generation: row.wanted ?? undefined }), row);
    }
  };
  await ask([...wanted.values()]);
  const again = [...wanted].filter(([name]) => found.get(name)?.kind === "again");
  // The next snapshot sees the generation that another replay has made in the meantime.
  if (again.length > 0) await ask(again.map(([, lookup]) => lookup));
  return lookups.map((lookup) => {
    const row = found.get(nameOf(lookup));
    if (row === undefined) return { kind: "not_found" };
    const kind = row.kind === "again" ? "not_settled" : row.kind;
    return kind === "replayed" ? { kind, event: row.event } : { kind };
  });
}

interface Row {
  readonly event: EnvelopedEvent;
  readonly wanted: number | null;
  readonly kind: ReplayAnswer["kind"] | "again";
}

// Copies a body of another day to today's partition, because that partition may be dropped while
// the event is pending. Of two replays at once the other returns `again`.
const REPLAY = `
WITH latest AS MATERIALIZED (
  SELECT w.generation AS wanted, e.*, ${BODY_KEPT("e")} AS body_kept
  FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
  CROSS JOIN LATERAL (
    SELECT l.source, l.event_id, l.generation, l.status, l.unsigned, l.received_at, l.digest,
      l.parent_source, l.parent_event_id, l.parent_generation, content.*
    FROM millrace.events l LEFT JOIN LATERAL (
      SELECT l.type, l.body_hash, l.body_day, l.body_id, l.own_headers, l.find WHERE $4::text IS NULL
      UNION ALL
      SELECT c.type, c.body_hash, c.body_day, c.body_id, NULL::jsonb, NULL::text[] FROM millrace.conflicts c
      WHERE c.source = l.source AND c.event_id = l.event_id AND c.body_hash = $4
    ) content ON true
    WHERE l.source = w.source AND l.event_id = w.event_id
    ORDER BY l.generation DESC LIMIT 1
  ) e
),
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, body_id, own_headers, find,
    parent_source, parent_event_id, parent_generation
  )
  SELECT source, event_id, generation + 1, type, body_hash, unsigned, received_at, body_id, own_headers, find,
    parent_source, parent_event_id, parent_generation
  FROM latest
  WHERE status <> 'pending' AND body_kept
    AND coalesce(wanted, generation) = generation
  ORDER BY source, event_id, generation
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation, body_day, body_id
),
copied AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT f.body_day, b.id, b.headers, b.body
  FROM fresh f JOIN latest l ON l.source = f.source AND l.event_id = f.event_id
    AND l.generation = f.generation - 1 AND l.body_day <> f.body_day
  JOIN millrace.bodies b ON b.day = l.body_day AND b.id = l.body_id
  ON CONFLICT DO NOTHING
)
SELECT l.wanted, ${eventColumn("l", "l.generation + 1")},
  CASE
    WHEN l.wanted > l.generation THEN 'not_found'
    WHEN l.wanted < l.generation THEN 'superseded'
    WHEN f.source IS NOT NULL THEN 'replayed'
    WHEN l.status = 'pending' THEN 'not_settled'
    WHEN NOT l.body_kept THEN 'body_missing'
    ELSE 'again'
  END AS kind
FROM latest l
LEFT JOIN fresh f ON f.source = l.source AND f.event_id = l.event_id
  AND f.generation = l.generation + 1`;

function nameOf({ source, eventId, generation }: EventLookup): string {
  return `${source}\0${generation ?? "latest"}\0${eventId}`;
}
