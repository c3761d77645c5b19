import type { Attempt, Conflict, EventRow, Generation } from "@millrace/api-contract";
import {
  isStorable,
  parsePayload,
  type EventKey,
  type EventLookup,
  type JsonPayload,
} from "@millrace/core";
import { and, asc, desc, eq, sql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import {
  ATTEMPT_COLUMNS,
  CONFLICT_COLUMNS,
  EVENT_COLUMNS,
  GENERATION_COLUMNS,
  toWire,
} from "./event-row.ts";
import { read, type LedgerContext } from "./ledger-context.ts";
import { attempts, bodies, conflicts, events } from "./schema.ts";

/** An event's row, and all else that the ledger knows of it. */
export interface EventRecord {
  readonly event: EventRow;
  /** The body as JSON (`parsePayload`); null when it has none, or is no longer kept. */
  readonly payload: JsonPayload;
  /** The exact bytes that were signed; undefined when they are no longer kept. */
  readonly body: Uint8Array | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly attemptLog: readonly Attempt[];
  readonly conflicts: readonly Conflict[];
  /** The event as received and each replay of it, in order; this one among them. */
  readonly generations: readonly Generation[];
}

/** A sender that signs a new body each time must not fill a page. */
const CONFLICTS_MAX = 100;
/** Nor must one who replays an event over and over: the latest are shown. */
const GENERATIONS_MAX = 100;

/**
 * Reads one event with its body, headers and failed attempts; undefined when there is none.
 *
 * @throws `database_unavailable`
 */
export async function findEvent(
  ledger: LedgerContext,
  lookup: EventLookup,
): Promise<EventRecord | undefined> {
  if (!isStorable(lookup.source) || !isStorable(lookup.eventId)) return undefined;
  return await read(ledger, async (db) => {
    const [row] = await selectEvent(db, lookup);
    if (row === undefined) return undefined;
    const { generation } = row.event;
    const log = await selectAttempts(db, { ...lookup, generation });
    const others = await selectConflicts(db, lookup);
    const generations = await selectGenerations(db, lookup);
    return {
      event: toWire(row.event),
      payload: row.body === null ? null : (parsePayload(row.body)?.value ?? null),
      body: row.body ?? undefined,
      headers: row.headers ?? {},
      attemptLog: log.map(toWire),
      conflicts: others.map(toWire),
      generations: generations.map(toWire).toReversed(),
    };
  });
}

function selectEvent(db: NodePgDatabase, { source, eventId, generation }: EventLookup) {
  return db
    .select({ event: EVENT_COLUMNS, headers: bodies.headers, body: bodies.body })
    .from(events)
    .leftJoin(bodies, and(eq(bodies.day, events.bodyDay), eq(bodies.id, events.bodyId)))
    .where(
      and(
        eq(events.source, source),
        eq(events.eventId, eventId),
        generation === undefined ? sql`true` : eq(events.generation, generation),
      ),
    )
    .orderBy(desc(events.generation))
    .limit(1);
}

function selectGenerations(db: NodePgDatabase, { source, eventId }: EventLookup) {
  return db
    .select(GENERATION_COLUMNS)
    .from(events)
    .where(and(eq(events.source, source), eq(events.eventId, eventId)))
    .orderBy(desc(events.generation))
    .limit(GENERATIONS_MAX);
}

function selectAttempts(db: NodePgDatabase, key: EventKey) {
  return db
    .select(ATTEMPT_COLUMNS)
    .from(attempts)
    .where(
      and(
        eq(attempts.source, key.source),
        eq(attempts.eventId, key.eventId),
        eq(attempts.generation, key.generation),
      ),
    )
    .orderBy(asc(attempts.attempt));
}

function selectConflicts(db: NodePgDatabase, { source, eventId }: EventLookup) {
  return db
    .select(CONFLICT_COLUMNS)
    .from(conflicts)
    .where(and(eq(conflicts.source, source), eq(conflicts.eventId, eventId)))
    .orderBy(asc(conflicts.firstSeenAt), asc(conflicts.bodyHash))
    .limit(CONFLICTS_MAX);
}
