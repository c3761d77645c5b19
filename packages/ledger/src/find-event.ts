import { isStorable, type ErrorCode, type JsonPayload } from "@millrace/core";
import { and, asc, desc, eq, sql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { EVENT_COLUMNS, toEventRow, type EventRow } from "./event-row.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { read } from "./read.ts";
import { attempts, bodies, conflicts, events } from "./schema.ts";

/** A failed attempt as it goes out. */
export interface AttemptRow {
  readonly attempt: number;
  readonly started_at: string | null;
  readonly finished_at: string;
  readonly code: ErrorCode;
  readonly message: string;
  /** False when the database was at fault and the attempt was given back. */
  readonly counted: boolean;
}

/** Deliveries of the event with one other body, which was not kept, as they go out. */
export interface ConflictRow {
  /** SHA-256 of that body, base64url. */
  readonly body_hash: string;
  readonly deliveries: number;
  readonly first_seen_at: string;
  readonly last_seen_at: string;
}

/** All that the ledger knows of one event. */
export interface EventDetail {
  readonly event: EventRow;
  /** The body parsed; null when it is not JSON, or is no longer kept. */
  readonly payload: JsonPayload;
  /** The exact bytes that were signed; undefined when they are no longer kept. */
  readonly body: Uint8Array | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly attemptLog: readonly AttemptRow[];
  readonly conflicts: readonly ConflictRow[];
  /** The event as received and each replay of it, in order; this one among them. */
  readonly generations: readonly GenerationRow[];
}

/** A sender that signs a new body each time must not fill a page. */
const CONFLICTS_MAX = 100;
/** Nor must one who replays an event over and over: the latest are shown. */
const GENERATIONS_MAX = 100;

/** One run of an event through the house. */
export type GenerationRow = Pick<
  EventRow,
  "generation" | "status" | "outcome" | "attempts" | "recorded_at" | "processed_at" | "last_error"
>;

/** Which event; without a generation the latest one. */
export interface EventLookup {
  readonly source: string;
  readonly eventId: string;
  readonly generation?: number | undefined;
}

/**
 * Reads one event with its body, headers and failed attempts; undefined when there is none.
 *
 * @throws `database_unavailable`
 */
export async function findEvent(
  ledger: LedgerContext,
  lookup: EventLookup,
): Promise<EventDetail | undefined> {
  if (!isStorable(lookup.source) || !isStorable(lookup.eventId)) return undefined;
  return await read(ledger, async (db) => {
    const [row] = await selectEvent(db, lookup);
    if (row === undefined) return undefined;
    const log = await selectAttempts(db, { ...lookup, generation: row.generation });
    const others = await selectConflicts(db, lookup);
    const generations = await selectGenerations(db, lookup);
    return {
      event: toEventRow(row),
      payload: parseJson(row.body),
      body: row.body ?? undefined,
      headers: row.headers ?? {},
      attemptLog: log.map(toAttemptRow),
      conflicts: others.map(toConflictRow),
      generations: generations.map(toGenerationRow).toReversed(),
    };
  });
}

function selectEvent(db: NodePgDatabase, { source, eventId, generation }: EventLookup) {
  return db
    .select({ ...EVENT_COLUMNS, headers: bodies.headers, body: bodies.body })
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
    .select(EVENT_COLUMNS)
    .from(events)
    .where(and(eq(events.source, source), eq(events.eventId, eventId)))
    .orderBy(desc(events.generation))
    .limit(GENERATIONS_MAX);
}

function selectAttempts(db: NodePgDatabase, key: Required<EventLookup>) {
  return db
    .select()
    .from(attempts)
    .where(
      and(
        eq(attempts.source, key.source),
        eq(attempts.eventId, key.eventId),
        eq(attempts.generation, key.generation ?? 0),
      ),
    )
    .orderBy(asc(attempts.attempt));
}

function selectConflicts(db: NodePgDatabase, { source, eventId }: EventLookup) {
  return db
    .select()
    .from(conflicts)
    .where(and(eq(conflicts.source, source), eq(conflicts.eventId, eventId)))
    .orderBy(asc(conflicts.firstSeenAt), asc(conflicts.bodyHash))
    .limit(CONFLICTS_MAX);
}

function toConflictRow(conflict: typeof conflicts.$inferSelect): ConflictRow {
  return {
    body_hash: conflict.bodyHash,
    deliveries: conflict.deliveries,
    first_seen_at: conflict.firstSeenAt.toISOString(),
    last_seen_at: conflict.lastSeenAt.toISOString(),
  };
}

function toGenerationRow(columns: Parameters<typeof toEventRow>[0]): GenerationRow {
  const { generation, status, outcome, attempts: made, ...row } = toEventRow(columns);
  const { recorded_at, processed_at, last_error } = row;
  return { generation, status, outcome, attempts: made, recorded_at, processed_at, last_error };
}

function toAttemptRow(attempt: typeof attempts.$inferSelect): AttemptRow {
  return {
    attempt: attempt.attempt,
    started_at: attempt.startedAt?.toISOString() ?? null,
    finished_at: attempt.finishedAt.toISOString(),
    code: attempt.code,
    message: attempt.message,
    counted: attempt.counted,
  };
}

function parseJson(body: Buffer | null): JsonPayload {
  if (body === null) return null;
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}
