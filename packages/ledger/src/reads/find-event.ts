import type { Conflict, EmittedBy, EventHistory, EventRow } from "@millrace/api-contract";
import {
  isStorable,
  shownPayload,
  type JsonText,
  type EventKey,
  type EventLookup,
} from "@millrace/core";
import { and, asc, desc, eq, sql, type SQL } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { alias } from "drizzle-orm/pg-core";
import {
  ATTEMPT_COLUMNS,
  CONFLICT_COLUMNS,
  EMITTED_COLUMNS,
  EVENT_COLUMNS,
  GENERATION_COLUMNS,
  PARENT_COLUMNS,
  SAME_MESSAGE_COLUMNS,
} from "./event-row.ts";
import { selectDeliveries } from "../intake/deliveries.ts";
import { selectActs, selectSteps } from "./event-history.ts";
import { read, type LedgerContext } from "../connection/ledger-context.ts";
import { toWire } from "../connection/rows.ts";
import { BODY_KEPT } from "../schema/bodies.ts";
import { attempts, bodies, conflicts, events } from "../schema/schema.ts";

/** The generations are in order, this one among them. */
export interface EventRecord extends EventHistory {
  readonly event: EventRow;
  /** The body as JSON (`shownPayload`); null without a body or for a part of it. */
  readonly payload: JsonText | null;
  /** The exact bytes that were signed, or the first of them; undefined when no longer kept. */
  readonly body: Uint8Array | undefined;
  readonly bodyBytes: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** A sender that signs a new body each time must not fill a page. */
const CONFLICTS_MAX = 100;
/** An event that is replayed over and over must not make the answer large: the latest are shown. */
const GENERATIONS_MAX = 100;
const SAME_MESSAGE_MAX = 100;
const EMITTED_MAX = 100;

export const BODY_BYTES_SHOWN = 256 * 1024;

export async function findEvent(
  ledger: LedgerContext,
  lookup: EventLookup,
  { bodyBytesMax = BODY_BYTES_SHOWN }: { bodyBytesMax?: number } = {},
): Promise<EventRecord | undefined> {
  if (!isStorable(lookup.source) || !isStorable(lookup.eventId)) return undefined;
  return await read(ledger, async (db) => {
    const [row] = await selectEvent(db, lookup, bodyBytesMax);
    if (row === undefined) return undefined;
    const { body, bodyBytes } = row;
    const { generation } = row.event;
    const log = await selectAttempts(db, { ...lookup, generation });
    const others = await selectConflicts(db, lookup);
    const generations = await selectGenerations(db, lookup);
    const same = row.event.unsigned ? await selectSameMessage(db, lookup) : [];
    const emitted = await selectEmitted(db, { ...lookup, generation });
    const parent = toParent(row.parent);
    const firstAtMs = parent === null ? row.event.received_at.getTime() : undefined;
    return {
      event: toWire(row.event),
      payload: body !== null && body.byteLength === bodyBytes ? shownPayload(body) : null,
      body: body ?? undefined,
      bodyBytes: bodyBytes ?? undefined,
      headers: row.headers ?? {},
      attempt_log: log.map(toWire),
      conflicts: others.map(toWire),
      generations: generations.map(toWire).toReversed(),
      same_message: {
        total: same[0]?.total ?? 0,
        events: same.map(({ event }) => toWire(event)),
      },
      emitted_by: parent,
      emitted: {
        total: emitted[0]?.total ?? 0,
        events: emitted.map(({ event }) => toWire(event)),
      },
      deliveries: await selectDeliveries(db, lookup, firstAtMs),
      acts: await selectActs(db, lookup),
      steps: await selectSteps(db, { ...lookup, generation }),
    };
  });
}

interface EventStatus {
  readonly generation: number;
  readonly status: EventRow["status"];
  readonly last_error_code: EventRow["last_error_code"];
}

/** Reads no body: the ingress has no right to. */
export async function findStatus(
  ledger: LedgerContext,
  lookup: EventLookup,
): Promise<EventStatus | undefined> {
  if (!isStorable(lookup.source) || !isStorable(lookup.eventId)) return undefined;
  const [row] = await read(ledger, (db) =>
    db
      .select({
        generation: events.generation,
        status: events.status,
        last_error_code: events.lastErrorCode,
      })
      .from(events)
      .where(isOf(lookup))
      .orderBy(desc(events.generation))
      .limit(1),
  );
  return row;
}

function isOf({ source, eventId, generation }: EventLookup): SQL | undefined {
  return and(
    eq(events.source, source),
    eq(events.eventId, eventId),
    generation === undefined ? undefined : eq(events.generation, generation),
  );
}

/** Those of an event that has its body in common with another one are its own. */
const HEADERS = sql<Record<
  string,
  string
> | null>`coalesce(${events.ownHeaders}, ${bodies.headers})`;

function selectEvent(db: NodePgDatabase, lookup: EventLookup, bodyBytesMax: number) {
  const body = sql<Buffer | null>`substring(${bodies.body} FROM 1 FOR ${bodyBytesMax}::int)`;
  // The size of a packed body is known without unpacking it.
  const bodyBytes = sql<number | null>`octet_length(${bodies.body})`;
  return db
    .select({ event: EVENT_COLUMNS, parent: PARENT_COLUMNS, headers: HEADERS, body, bodyBytes })
    .from(events)
    .leftJoin(bodies, and(eq(bodies.day, events.bodyDay), eq(bodies.id, events.bodyId)))
    .where(isOf(lookup))
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

const KEPT = sql<boolean>`${sql.raw(BODY_KEPT("conflicts"))}`;

export async function findConflicts(
  ledger: LedgerContext,
  source: string | undefined,
  limit: number,
): Promise<readonly (Conflict & { readonly source: string; readonly event_id: string })[]> {
  const found = await read(ledger, (db) =>
    db
      .select({
        ...{ source: conflicts.source, event_id: conflicts.eventId },
        ...{ ...CONFLICT_COLUMNS, kept: KEPT },
      })
      .from(conflicts)
      .where(source === undefined ? undefined : eq(conflicts.source, source))
      .orderBy(desc(conflicts.firstSeenAt))
      .limit(limit),
  );
  return found.map(toWire);
}

function selectConflicts(db: NodePgDatabase, { source, eventId }: EventLookup) {
  return db
    .select({ ...CONFLICT_COLUMNS, kept: KEPT })
    .from(conflicts)
    .where(and(eq(conflicts.source, source), eq(conflicts.eventId, eventId)))
    .orderBy(asc(conflicts.firstSeenAt), asc(conflicts.bodyHash))
    .limit(CONFLICTS_MAX);
}

function selectSameMessage(db: NodePgDatabase, { source, eventId }: EventLookup) {
  const mine = alias(events, "mine");
  return db
    .select({ event: SAME_MESSAGE_COLUMNS, total: sql<number>`(count(*) OVER ())::int` })
    .from(mine)
    .innerJoin(
      events,
      sql`${events.unsigned} AND ${events.generation} = 0 AND ${events.source} || '' = ${mine.source}
        AND coalesce(${events.digest}, ${events.bodyHash}) = coalesce(${mine.digest}, ${mine.bodyHash})
        AND ${events.eventId} <> ${mine.eventId}`,
    )
    .where(and(eq(mine.source, source), eq(mine.eventId, eventId), eq(mine.generation, 0)))
    .orderBy(asc(events.recordedAt), asc(events.eventId))
    .limit(SAME_MESSAGE_MAX);
}

function toParent({
  source,
  event_id,
  generation,
}: {
  [Name in keyof EmittedBy]: EmittedBy[Name] | null;
}): EmittedBy | null {
  if (source === null || event_id === null || generation === null) return null;
  return { source, event_id, generation };
}

function selectEmitted(db: NodePgDatabase, { source, eventId, generation }: EventKey) {
  return db
    .select({ event: EMITTED_COLUMNS, total: sql<number>`(count(*) OVER ())::int` })
    .from(events)
    .where(
      and(
        eq(events.parentSource, source),
        eq(events.parentEventId, eventId),
        eq(events.parentGeneration, generation),
        sql`${events.generation} + 0 = 0`,
      ),
    )
    .orderBy(asc(events.recordedAt), asc(events.source), asc(events.eventId))
    .limit(EMITTED_MAX);
}
