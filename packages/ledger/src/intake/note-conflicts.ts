import { isStorable, type IncomingEvent } from "@millrace/core";
import { withPartitions } from "../schema/bodies.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

const NOTE_CONFLICTS = `
SELECT millrace.note_conflict(source, event_id, body_hash, deliveries, type, headers::jsonb, body)
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::bytea[])
  AS n (source, event_id, body_hash, deliveries, type, headers, body)
ORDER BY source, event_id, body_hash`;

/** Keeps other bodies of known events that the queue finds; the ledger keeps those it finds. */
export async function noteConflicts(
  ledger: LedgerContext,
  deliveries: readonly IncomingEvent[],
): Promise<void> {
  const noted = new Map<string, { event: IncomingEvent; times: number }>();
  for (const event of deliveries) {
    const { source, eventId, type, bodyHash } = event;
    if (![source, eventId, type, bodyHash].every(isStorable)) continue;
    const name = `${source}\0${bodyHash}\0${eventId}`;
    const { times } = noted.get(name) ?? { times: 0 };
    noted.set(name, { event, times: times + 1 });
  }
  if (noted.size === 0) return;
  const rows = [...noted.values()];
  const events = rows.map(({ event }) => event);
  const values = [
    events.map(({ source }) => source),
    events.map(({ eventId }) => eventId),
    events.map(({ bodyHash }) => bodyHash),
    rows.map(({ times }) => times),
    events.map(({ type }) => type),
    events.map(({ headers }) => JSON.stringify(headers)),
    events.map(({ body }) => Buffer.from(body)),
  ];
  const query = { text: NOTE_CONFLICTS, values };
  await withPartitions(ledger.pool, () => runStatement(ledger.pool, query, ledger.short));
}
