import type { EventPage } from "@millrace/api-contract";
import { isStorable, MillraceError, type EventStatus, type Outcome } from "@millrace/core";
import { and, asc, count, desc, eq, gte, lt, sql, type SQL } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { readCursor, writeCursor } from "./cursor.ts";
import { EVENT_COLUMNS } from "./event-row.ts";
import { read, type LedgerContext } from "../connection/ledger-context.ts";
import { toWire } from "../connection/rows.ts";
import { events } from "../schema/schema.ts";

export interface EventFilter {
  readonly source?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: EventStatus | undefined;
  readonly outcome?: Outcome | undefined;
  readonly error?: string | undefined;
  readonly q?: string | undefined;
  /** Recorded at this time or later, and before that one, by the database's clock. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Recorded, or completed or failed, within so many milliseconds, by the database's clock. */
  readonly changedWithinMs?: number | undefined;
  /** Recorded before this bulk run was started, and of the same status since then. */
  readonly snapshotOfRun?: number | undefined;
  readonly limit?: number | undefined;
  /** By the time of their record: newest first (`desc`, the default) or oldest first. */
  readonly order?: "asc" | "desc" | undefined;
  readonly cursor?: string | undefined;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;

/** @throws `invalid_request` for an invalid limit or cursor */
export async function findEvents(
  ledger: LedgerContext,
  filter: EventFilter,
): Promise<Omit<EventPage, "queued">> {
  const limit = filter.limit ?? LIMIT_DEFAULT;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new MillraceError("invalid_request", `Cannot list ${limit} events: 1 to ${LIMIT_MAX}`);
  }
  if (!canMatch(filter)) return { events: [], next: null };
  const rows = await read(ledger, (db) => selectRows(db, filter, limit + 1));
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    events: page.map(({ event }) => toWire(event)),
    next: rows.length <= limit || last === undefined ? null : cursorOf(last),
  };
}

/** Counts `countMax` events at most, and one more where there are more. */
export async function countEvents(
  ledger: LedgerContext,
  filter: EventFilter,
  countMax: number,
): Promise<readonly EventCounts[]> {
  if (!canMatch(filter)) return [];
  return await read(ledger, (db) => {
    const found = db
      .select({ source: events.source, status: events.status })
      .from(events)
      .where(and(...conditions({ ...filter, cursor: undefined })))
      .limit(countMax + 1)
      .as("found");
    return db
      .select({ source: found.source, status: found.status, count: count() })
      .from(found)
      .groupBy(found.source, found.status);
  });
}

/** False for what Postgres cannot even compare with. */
function canMatch({ source, type, error, q }: EventFilter): boolean {
  return [source, type, error, q].every((text) => text === undefined || isStorable(text));
}

export interface EventCounts {
  readonly source: string;
  readonly status: EventStatus;
  readonly count: number;
}

export function cursorOf({
  event,
  recordedAtText,
}: Awaited<ReturnType<typeof selectRows>>[number]): string {
  const { source, event_id: eventId, generation } = event;
  return writeCursor({ recordedAt: recordedAtText, key: { source, eventId, generation } });
}

export async function selectRows(db: NodePgDatabase, filter: EventFilter, limit: number) {
  return await db
    .select({
      event: EVENT_COLUMNS,
      recordedAtText: sql<string>`(${events.recordedAt} AT TIME ZONE 'UTC')::text`,
    })
    .from(events)
    .where(and(...conditions(filter)))
    .orderBy(...SORT_KEY.map(filter.order === "asc" ? asc : desc))
    .limit(limit);
}

const SORT_KEY = [events.recordedAt, events.source, events.eventId, events.generation];

function conditions(filter: EventFilter): (SQL | undefined)[] {
  const { source, type, status, outcome, error, q, since, until, changedWithinMs, cursor } = filter;
  const { snapshotOfRun: run } = filter;
  return [
    source === undefined ? undefined : eq(events.source, source),
    type === undefined ? undefined : eq(events.type, type),
    // The status stands in the text, so that the planner may take its partial index.
    status === undefined ? undefined : sql`${events.status} = ${sql.raw(STATUS_LITERALS[status])}`,
    outcome === undefined ? undefined : eq(events.outcome, outcome),
    error === undefined ? undefined : eq(events.fingerprint, error),
    q === undefined || q === "" ? undefined : beginsWith(q, source),
    since === undefined ? undefined : gte(events.recordedAt, since),
    until === undefined ? undefined : lt(events.recordedAt, until),
    changedWithinMs === undefined ? undefined : changedWithin(changedWithinMs),
    cursor === undefined ? undefined : after(cursor, filter.order),
    run === undefined ? undefined : inSnapshot(run),
  ];
}

const STATUS_LITERALS: Record<EventStatus, string> = {
  pending: "'pending'",
  completed: "'completed'",
  failed: "'failed'",
};

// A range over the primary key, whose first column is the source: each source gets a range of its
// own, and the sources are found by jumping from one to the next.
function beginsWith(q: string, source: string | undefined): SQL {
  const range = sql`${events.eventId} >= ${q} AND ${events.eventId} < ${q} || chr(1114111)
    AND starts_with(${events.eventId}, ${q})`;
  if (source !== undefined) return range;
  return sql`${range} AND ${events.source} = ANY (ARRAY(
    WITH RECURSIVE known (source) AS (
      SELECT min(source) FROM millrace.events
      UNION ALL
      SELECT (SELECT min(e.source) FROM millrace.events e WHERE e.source > known.source)
      FROM known WHERE known.source IS NOT NULL
    )
    SELECT source FROM known WHERE source IS NOT NULL
  ))`;
}

// now() and not the clock, which moves while it is read and so takes no index.
function changedWithin(ms: number): SQL {
  const since = sql`now() - ${ms} * interval '1 millisecond'`;
  return sql`(${events.recordedAt} >= ${since} OR ${events.processedAt} >= ${since})`;
}

function after(text: string, order: EventFilter["order"]): SQL {
  const { recordedAt, key } = readCursor(text);
  const isBehind = sql.raw(order === "asc" ? ">" : "<");
  return sql`(${events.recordedAt}, ${events.source}, ${events.eventId}, ${events.generation})
    ${isBehind} (${`${recordedAt}+00`}::timestamptz, ${key.source}, ${key.eventId}, ${key.generation}::int)`;
}

// The moment stays in the database: a Date would cut its microseconds. An event that was retried
// or ran after it is left out, so that giving up never undoes a later retry.
function inSnapshot(run: number): SQL {
  const moment = sql`(SELECT snapshot_at FROM millrace.bulk_runs WHERE id = ${run}::bigint)`;
  return sql`${events.recordedAt} <= ${moment}
    AND coalesce(${events.processedAt}, ${events.pendingSince}) <= ${moment}`;
}
