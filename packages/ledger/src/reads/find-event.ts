import {
  eventHistory,
  type EventAct,
  type EventHistory,
  type EventRow,
} from "@millrace/api-contract";
import { isStorable, shownPayload, type JsonText, type EventLookup } from "@millrace/core";
import type pg from "pg";
import { queryRows, read, toWire, type LedgerContext } from "../connection/ledger-context.ts";
import { selectDeliveries } from "../intake/deliveries.ts";
import { BODY_KEPT } from "../schema/bodies.ts";
import { columnsOf, EVENT_COLUMNS } from "./find-events.ts";

export interface EventRecord extends EventHistory {
  readonly event: EventRow;
  /** The body as JSON (`shownPayload`); null without a body or for a part of it. */
  readonly payload: JsonText | null;
  /** The exact bytes that were signed, or the first of them; undefined when no longer kept. */
  readonly body: Uint8Array | undefined;
  readonly bodyBytes: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly find: readonly string[];
}

const { attempt_log, conflicts, generations, same_message, emitted } = eventHistory.shape;

/** A sender that signs a new body each time must not fill a page, and neither must replays. */
const LISTED_MAX = 100;

export const BODY_BYTES_SHOWN = 256 * 1024;

/** The size of a packed body is known without unpacking it. */
const EVENT = `
SELECT ${EVENT_COLUMNS}, coalesce(e.own_headers, b.headers) AS headers, coalesce(e.find, '{}') AS find,
  substring(b.body FROM 1 FOR $4::int) AS body, octet_length(b.body) AS body_bytes,
  CASE WHEN e.parent_source IS NOT NULL THEN json_build_object(
    'source', e.parent_source, 'event_id', e.parent_event_id, 'generation', e.parent_generation
  ) END AS emitted_by
FROM millrace.events e LEFT JOIN millrace.bodies b ON b.day = e.body_day AND b.id = e.body_id
WHERE e.source = $1 AND e.event_id = $2 AND ($3::int IS NULL OR e.generation = $3)
ORDER BY e.generation DESC LIMIT 1`;

type FoundRow = EventRow & {
  readonly headers: Readonly<Record<string, string>> | null;
  readonly find: readonly string[];
  readonly body: Buffer | null;
  readonly body_bytes: number | null;
  readonly emitted_by: EventHistory["emitted_by"];
};

const ATTEMPTS = `
SELECT ${columnsOf(attempt_log.element, "a")} FROM millrace.attempts a
WHERE source = $1 AND event_id = $2 AND generation = $3 ORDER BY attempt`;

const CONFLICTS = `
SELECT ${columnsOf(conflicts.element.omit({ kept: true }), "c")}, ${BODY_KEPT("c")} AS kept FROM millrace.conflicts c
WHERE source = $1 AND event_id = $2 ORDER BY first_seen_at, body_hash LIMIT ${LISTED_MAX}`;

const GENERATIONS = `
SELECT ${columnsOf(generations.element, "e")} FROM millrace.events e
WHERE source = $1 AND event_id = $2 ORDER BY generation DESC LIMIT ${LISTED_MAX}`;

const SAME_MESSAGE = `
SELECT ${columnsOf(same_message.shape.events.element, "e")}, (count(*) OVER ())::int AS total
FROM millrace.events mine JOIN millrace.events e
  ON e.unsigned AND e.generation = 0 AND e.source || '' = mine.source
  AND coalesce(e.digest, e.body_hash) = coalesce(mine.digest, mine.body_hash)
  AND e.event_id <> mine.event_id
WHERE mine.source = $1 AND mine.event_id = $2 AND mine.generation = 0 AND mine.unsigned
ORDER BY e.recorded_at, e.event_id LIMIT ${LISTED_MAX}`;

const EMITTED = `
SELECT ${columnsOf(emitted.shape.events.element, "e")}, (count(*) OVER ())::int AS total FROM millrace.events e
WHERE parent_source = $1 AND parent_event_id = $2 AND parent_generation = $3 AND generation + 0 = 0
ORDER BY recorded_at, source, event_id LIMIT ${LISTED_MAX}`;

/** Without their results, the user's data. */
const STEPS = `
SELECT recorded_at AS at, name, attempt FROM millrace.steps
WHERE source = $1 AND event_id = $2 AND generation = $3 ORDER BY recorded_at, name LIMIT ${LISTED_MAX}`;

/** A person who retries an event over and over must not fill a page: the latest acts are shown. */
const ACTS_MAX = 50;
/** A member is found by its run, so the latest runs are asked one by one. */
const RUNS_MAX = 1_000;

const ACTS = `
SELECT at, action, actor, via, reason, generation, run FROM (
  (
    SELECT at, action, actor, via, reason, generation, NULL::float8 AS run
    FROM millrace.audit
    WHERE source = $1 AND event_id = $2 AND action IN ('retry', 'replay', 'give_up', 'edit')
    ORDER BY id DESC LIMIT ${ACTS_MAX}
  )
  UNION ALL
  (
    SELECT r.created_at, r.verb || '_many', r.started_by, r.via, r.reason, m.generation, r.id::float8
    FROM (
      SELECT id, created_at, verb, started_by, via, reason FROM millrace.bulk_runs
      ORDER BY id DESC LIMIT ${RUNS_MAX}
    ) AS r
    CROSS JOIN LATERAL (
      SELECT generation FROM millrace.bulk_members
      WHERE run_id = r.id AND source = $1 AND event_id = $2 AND skipped IS NULL
      ORDER BY generation DESC LIMIT 1
    ) AS m
    ORDER BY r.id DESC LIMIT ${ACTS_MAX}
  )
) AS acts
ORDER BY at DESC LIMIT ${ACTS_MAX}`;

export async function findEvent(
  ledger: LedgerContext,
  lookup: EventLookup,
  { bodyBytesMax = BODY_BYTES_SHOWN }: { bodyBytesMax?: number } = {},
): Promise<EventRecord | undefined> {
  const { source, eventId } = lookup;
  if (!isStorable(source) || !isStorable(eventId)) return undefined;
  return await read(ledger, async (client) => {
    const asked = [source, eventId, lookup.generation ?? null, bodyBytesMax];
    const [row] = await select<FoundRow>(client, EVENT, asked);
    if (row === undefined) return undefined;
    const { headers, find, body, body_bytes: bodyBytes, emitted_by, ...event } = row;
    const firstAtMs = emitted_by === null ? Date.parse(event.received_at) : undefined;
    const id = [source, eventId];
    const key = [...id, event.generation];
    return {
      event,
      payload: body !== null && body.byteLength === bodyBytes ? shownPayload(body) : null,
      body: body ?? undefined,
      bodyBytes: bodyBytes ?? undefined,
      headers: headers ?? {},
      find,
      attempt_log: await select(client, ATTEMPTS, key),
      conflicts: await select(client, CONFLICTS, id),
      generations: (await select<Generation>(client, GENERATIONS, id)).toReversed(),
      same_message: listed(await select<Listed<"same_message">>(client, SAME_MESSAGE, id)),
      emitted_by,
      emitted: listed(await select<Listed<"emitted">>(client, EMITTED, key)),
      deliveries: await selectDeliveries(client, lookup, firstAtMs),
      acts: (await select<EventAct>(client, ACTS, id)).toReversed(),
      steps: await select(client, STEPS, key),
    };
  });
}

async function select<Row extends object>(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await client.query<Row>(text, [...values]);
  return rows.map((row) => toWire(row) as Row);
}

type Generation = EventHistory["generations"][number];
type Listed<Part extends "same_message" | "emitted"> = EventHistory[Part]["events"][number] & {
  readonly total: number;
};

function listed<Row extends { readonly total: number }>(rows: readonly Row[]) {
  return { total: rows[0]?.total ?? 0, events: rows.map(({ total: _, ...event }) => event) };
}

type EventStatus = Pick<EventRow, "generation" | "status" | "last_error_code">;

/** No body: the ingress has no right to it. */
const STATUS = `
SELECT generation, status, last_error_code FROM millrace.events
WHERE source = $1 AND event_id = $2 AND ($3::int IS NULL OR generation = $3)
ORDER BY generation DESC LIMIT 1`;

export async function findStatus(
  ledger: LedgerContext,
  { source, eventId, generation }: EventLookup,
): Promise<EventStatus | undefined> {
  if (!isStorable(source) || !isStorable(eventId)) return undefined;
  const values = [source, eventId, generation ?? null];
  return (await queryRows<EventStatus>(ledger, STATUS, values))[0];
}

export interface BodyPart {
  readonly generation: number;
  readonly bodyBytes: number | null;
  readonly part: Uint8Array | null;
}

const READ_PART = `
SELECT e.generation, octet_length(b.body) AS "bodyBytes",
  substring(b.body FROM $4::int + 1 FOR $5::int) AS part
FROM (
  SELECT generation, body_day, body_id FROM millrace.events
  WHERE source = $1 AND event_id = $2 AND ($3::int IS NULL OR generation = $3)
  ORDER BY generation DESC LIMIT 1
) e
LEFT JOIN millrace.conflicts c ON c.source = $1 AND c.event_id = $2 AND c.body_hash = $6
LEFT JOIN millrace.bodies b ON b.day = CASE WHEN $6 IS NULL THEN e.body_day ELSE c.body_day END
  AND b.id = CASE WHEN $6 IS NULL THEN e.body_id ELSE c.body_id END`;

export async function readBody(
  ledger: LedgerContext,
  { source, eventId, generation }: EventLookup,
  { offset, length, bodyHash }: { offset: number; length: number; bodyHash?: string | undefined },
): Promise<BodyPart | undefined> {
  if (!isStorable(source) || !isStorable(eventId)) return undefined;
  const values = [source, eventId, generation ?? null, offset, length, bodyHash ?? null];
  return (await queryRows<BodyPart>(ledger, READ_PART, values))[0];
}
