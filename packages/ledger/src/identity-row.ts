import type { IncomingEvent } from "@millrace/core";

/** An event without what it carries: all that a job needs whose body is the ledger's. */
export type EventIdentity = Omit<IncomingEvent, "body" | "headers">;

/** The columns that make an identity. */
export interface IdentityRow {
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
  readonly type: string;
  readonly body_hash: string;
  readonly unsigned: boolean;
  readonly received_at: Date;
}

/** Turns a row of the ledger into an event's identity. */
export function toIdentity(row: IdentityRow): EventIdentity {
  return {
    source: row.source,
    eventId: row.event_id,
    generation: row.generation,
    type: row.type,
    bodyHash: row.body_hash,
    unsigned: row.unsigned,
    acceptedAtMs: row.received_at.getTime(),
  };
}
