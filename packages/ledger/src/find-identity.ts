import { isStorable, type EventKey, type EventStatus, type IncomingEvent } from "@millrace/core";
import { and, eq } from "drizzle-orm";
import type { LedgerContext } from "./ledger-context.ts";
import { read } from "./read.ts";
import { bodies, events } from "./schema.ts";

/** An event as its job carries it when the ledger has the body, and its status. */
export interface StoredEvent extends Omit<IncomingEvent, "body"> {
  readonly status: EventStatus;
}

/**
 * Reads what a job of an event needs; undefined when there is no such event.
 *
 * @throws `database_unavailable`
 */
export async function findIdentity(
  ledger: LedgerContext,
  key: EventKey,
): Promise<StoredEvent | undefined> {
  if (!isStorable(key.source) || !isStorable(key.eventId)) return undefined;
  const [row] = await read(ledger, (db) =>
    db
      .select({
        source: events.source,
        eventId: events.eventId,
        generation: events.generation,
        type: events.type,
        status: events.status,
        bodyHash: events.bodyHash,
        unsigned: events.unsigned,
        receivedAt: events.receivedAt,
        headers: bodies.headers,
      })
      .from(events)
      .leftJoin(bodies, and(eq(bodies.day, events.bodyDay), eq(bodies.id, events.bodyId)))
      .where(
        and(
          eq(events.source, key.source),
          eq(events.eventId, key.eventId),
          eq(events.generation, key.generation),
        ),
      ),
  );
  if (row === undefined) return undefined;
  const { receivedAt, headers, ...identity } = row;
  return { ...identity, acceptedAtMs: receivedAt.getTime(), headers: headers ?? {} };
}
