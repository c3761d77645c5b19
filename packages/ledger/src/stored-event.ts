import type { EnvelopedEvent } from "@millrace/core";
import type { events } from "./schema.ts";

/** The columns of `toEvent`, of a row of events `e`. */
export const eventColumns = (e: string, generation = `${e}.generation`) => `
  ${e}.source, ${e}.event_id AS "eventId", ${generation} AS generation, ${e}.type,
  ${e}.body_hash AS "bodyHash", ${e}.unsigned, ${e}.received_at AS "receivedAt"`;

/** A row of `eventColumns`. */
export type EventColumns = Pick<
  typeof events.$inferSelect,
  "source" | "eventId" | "generation" | "type" | "bodyHash" | "unsigned" | "receivedAt"
>;

/** An event of the ledger in the form that its job carries: body and headers stay in the ledger. */
export function toEvent(row: EventColumns): EnvelopedEvent {
  return {
    source: row.source,
    eventId: row.eventId,
    generation: row.generation,
    type: row.type,
    acceptedAtMs: row.receivedAt.getTime(),
    bodyHash: row.bodyHash,
    headers: {},
    unsigned: row.unsigned,
    body: undefined,
  };
}
