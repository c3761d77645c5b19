import { createHash } from "node:crypto";
import type { Pool } from "pg";
import type { SignedEvent } from "./seeds.ts";

/** Knows every event that was rightly signed, and holds the ledger against it. */
export interface SignedEvents {
  add(events: readonly SignedEvent[]): void;
  /** Notes that these were answered 2xx. */
  acknowledged(events: readonly SignedEvent[]): void;
  /** Notes that these were to be refused. */
  refused(events: readonly SignedEvent[]): void;
  /** What the ledger has and must not have, and what it lacks. */
  compare(database: Pool): Promise<{ readonly rows: number; readonly wrong: readonly string[] }>;
}

export function createSignedEvents(): SignedEvents {
  const signed = new Set<string>();
  const due = new Set<string>();
  const barred = new Set<string>();
  const keyOf = (event: SignedEvent) => key({ ...event, hash: sha256(event.body) });
  return {
    add: (events) => events.forEach((event) => signed.add(keyOf(event))),
    acknowledged: (events) => events.forEach((event) => due.add(keyOf(event))),
    refused: (events) => events.forEach((event) => barred.add(keyOf(event))),
    compare: async (database) => {
      const { rows } = await database.query<{ source: string; event_id: string; hash: string }>(
        `select e.source, e.event_id, encode(sha256(b.body), 'hex') as hash
           from millrace.events e join millrace.bodies b on b.day = e.body_day and b.id = e.body_id`,
      );
      const kept = rows.map(({ source, event_id: eventId, hash }) =>
        key({ source, eventId, hash }),
      );
      const has = new Set(kept);
      return {
        rows: rows.length,
        wrong: [
          ...kept.filter((event) => !signed.has(event)).map((event) => `never signed: ${event}`),
          ...kept.filter((event) => barred.has(event)).map((event) => `was refused: ${event}`),
          ...[...due].filter((event) => !has.has(event)).map((event) => `lost: ${event}`),
        ],
      };
    },
  };
}

const sha256 = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

/** GitHub's signature covers the body alone: any id may stand beside it. */
function key(event: { source: string; eventId: string; hash: string }): string {
  const eventId = event.source === "github" ? "*" : event.eventId;
  return `${event.source} ${eventId} ${event.hash}`;
}
