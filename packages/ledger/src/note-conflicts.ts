import { isStorable, type EventKey } from "@millrace/core";
import type { LedgerContext } from "./ledger-context.ts";
import { NOTE_CONFLICTS } from "./sql/note-conflicts.ts";
import { runStatement } from "./transaction.ts";

/** A delivery of a known event whose body is not the one that was kept. */
export type ConflictingDelivery = Pick<EventKey, "source" | "eventId"> & {
  readonly bodyHash: string;
};

/**
 * Remembers deliveries that the queue knew with another body; those that the ledger finds itself it
 * has noted.
 *
 * @throws `database_unavailable`
 */
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
