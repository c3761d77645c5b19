import { isStorable, type EventLookup } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

export interface ConflictingDelivery extends EventLookup {
  readonly bodyHash: string;
}

/** Counts deliveries ($4) of known events whose body was not the first. */
const NOTE_CONFLICTS = `
INSERT INTO millrace.conflicts AS c (source, event_id, body_hash, deliveries)
SELECT source, event_id, body_hash, deliveries
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[])
  AS n (source, event_id, body_hash, deliveries)
ORDER BY source, event_id, body_hash
ON CONFLICT (source, event_id, body_hash) DO UPDATE
SET deliveries = c.deliveries + excluded.deliveries, last_seen_at = clock_timestamp()`;

/** The ledger itself notes the conflicts that it finds. */
export async function noteConflicts(
  ledger: LedgerContext,
  deliveries: readonly ConflictingDelivery[],
): Promise<void> {
  const noted = new Map<string, { delivery: ConflictingDelivery; times: number }>();
  for (const delivery of deliveries) {
    const { source, eventId, bodyHash } = delivery;
    if (![source, eventId, bodyHash].every(isStorable)) continue;
    const name = `${source}\0${bodyHash}\0${eventId}`;
    const { times } = noted.get(name) ?? { times: 0 };
    noted.set(name, { delivery, times: times + 1 });
  }
  if (noted.size === 0) return;
  const rows = [...noted.values()];
  const values = [
    rows.map(({ delivery }) => delivery.source),
    rows.map(({ delivery }) => delivery.eventId),
    rows.map(({ delivery }) => delivery.bodyHash),
    rows.map(({ times }) => times),
  ];
  await runStatement(ledger.pool, { text: NOTE_CONFLICTS, values }, ledger.short);
}
