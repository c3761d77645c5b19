import { isStorable, type EnvelopedEvent, type EventKey, type EventLookup } from "@millrace/core";
import type pg from "pg";
import type { LedgerContext } from "../connection/ledger-context.ts";
import type { Build } from "../connection/statement.ts";
import { runStatement } from "../connection/transaction.ts";
import { withPartitions } from "../schema/bodies.ts";
import {
  COMMON_BODY,
  IS_COPY,
  isRepeatable,
  keptDigest,
  lockMessages,
  messageText,
  packFind,
} from "./same-message.ts";

/** A key as one string, for maps. A source has no NUL, so two keys never collide. */
export function keyText(key: EventKey): string {
  return `${key.source}\0${key.generation}\0${key.eventId}`;
}

export function packKeys(keys: readonly EventLookup[]): [string[], string[], (number | null)[]] {
  return [
    keys.map((key) => key.source),
    keys.map((key) => key.eventId),
    keys.map((key) => key.generation ?? null),
  ];
}

/** For a row found by its key: `status = 'pending'` could read all of a partial index for it. */
export const IS_PENDING = (event: string) => `${event}.processed_at IS NULL`;

export function isStorableKey({ source, eventId }: EventLookup): boolean {
  return isStorable(source) && isStorable(eventId);
}

export const GIVEN_EVENTS = `unnest(
    :sources::text[], :eventIds::text[], :generations::int[], :types::text[], :bodyHashes::text[], :unsigned::bool[], :digests::text[], :receivedAtMs::float8[],
    :headers::text[], :bodyFrom::int[], :bodyLength::int[], :finds::text[], :repeatable::bool[]
  ) AS i (
    source, event_id, generation, type, body_hash, unsigned, digest, received_at_ms,
    headers, body_from, body_length, find, repeatable
  )`;

/**
 * Rows from `packEvents`, whose one binary value of all bodies costs Postgres less than an array.
 * LIMIT 1, because an EXISTS may be answered from a hash of the whole table.
 */
export const INCOMING = `
incoming AS MATERIALIZED (
  SELECT i.*, (
    SELECT true FROM millrace.events e
    WHERE e.source = i.source AND e.event_id = i.event_id AND e.generation = i.generation
    LIMIT 1
  ) IS TRUE AS known, ${COMMON_BODY} AS common_body
  FROM ${GIVEN_EVENTS}
)`;

const BODY_WITHIN = (i: string) =>
  `substring(:bodies::bytea FROM ${i}.body_from FOR ${i}.body_length)`;

/**
 * Keeps an incoming event `i` whose body is not the first of its id. `same`: only fields of the
 * attempt differ. `taken`: the first was a refused copy, whose row the event has now.
 */
export const NOTE_CONFLICT = (i: string) => `millrace.note_conflict(
    ${i}.source, ${i}.event_id, ${i}.body_hash, (${i}.body_from IS NOT NULL)::int, ${i}.type, ${i}.headers::jsonb,
    ${BODY_WITHIN(i)}, ${i}.digest,
    ARRAY(SELECT jsonb_array_elements_text(:attemptFields::jsonb -> ${i}.source)),
    ${i}.generation = 0 AND ${i}.unsigned AND NOT (${i}.repeatable AND ${IS_COPY(i)})
  )`;
export type Conflict = "conflict" | "same" | "taken";

interface BegunEvent {
  readonly join: string;
  readonly where: string;
  /** Runs of the handlers before this attempt that nobody has counted. */
  readonly uncounted: string;
}

/** In the order of keys, so that two calls cannot deadlock. */
export const INSERT_FRESH = (begun?: BegunEvent) => `
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, digest, received_at, body_id,
    own_headers, find, refused, attempts, attempts_at_retry, started_at, enqueued_at
  )
  SELECT source, event_id, generation, type, body_hash, unsigned, digest,
    to_timestamp(received_at_ms / 1000), coalesce(common_body, nextval('millrace.body_id')),
    CASE WHEN common_body IS NOT NULL THEN headers::jsonb END, find::text[],
    CASE WHEN repeatable THEN ${IS_COPY("incoming")} OR row_number() OVER (
      PARTITION BY source, coalesce(digest, body_hash), type ORDER BY event_id
    ) > 1 END,
    ${
      begun === undefined
        ? "0, 0, NULL::timestamptz, NULL::timestamptz"
        : `1 + ${begun.uncounted}, ${begun.uncounted}, clock_timestamp(), now()`
    }
  FROM incoming ${begun?.join ?? ""}
  WHERE NOT known AND body_from IS NOT NULL ${begun === undefined ? "" : `AND ${begun.where}`}
  ORDER BY source, event_id, generation
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation, attempts, refused, body_day, body_id
),
stored AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT fresh.body_day, fresh.body_id, incoming.headers::jsonb, ${BODY_WITHIN("incoming")}
  FROM fresh JOIN incoming USING (source, event_id, generation)
  WHERE incoming.common_body IS NULL
)`;

/** Sends a statement about events. Of those that share a message, one is decided at a time. */
export async function sendEvents<Row extends pg.QueryResultRow>(
  ledger: LedgerContext,
  build: Build,
  events: readonly EnvelopedEvent[],
  values: Readonly<Record<string, unknown>> = {},
): Promise<readonly Row[]> {
  const fields = events.map(({ source }) => [source, ledger.attemptFields(source)] as const);
  const query = build({
    ...packEvents(ledger, events),
    repeatable: events.map((event) => isRepeatable(ledger, event)),
    attemptFields: JSON.stringify(Object.fromEntries(fields)),
    ...values,
  });
  const { rows } = await withPartitions(ledger.pool, () =>
    runStatement<Row>(ledger.pool, query, ledger.prepared, lockMessages(ledger, events)),
  );
  return rows;
}

export function packEvents(
  ledger: Pick<LedgerContext, "find">,
  events: readonly EnvelopedEvent[],
): Readonly<Record<string, unknown>> {
  const bodies: Uint8Array[] = [];
  const from: (number | null)[] = [];
  const length: (number | null)[] = [];
  let offset = 1;
  for (const { body } of events) {
    from.push(body === undefined ? null : offset);
    length.push(body === undefined ? null : body.byteLength);
    if (body === undefined) continue;
    bodies.push(body);
    offset += body.byteLength;
  }
  return {
    sources: events.map((event) => event.source),
    eventIds: events.map((event) => event.eventId),
    generations: events.map((event) => event.generation),
    types: events.map((event) => event.type),
    bodyHashes: events.map((event) => event.bodyHash),
    unsigned: events.map((event) => event.unsigned),
    digests: events.map(keptDigest),
    receivedAtMs: events.map((event) => event.acceptedAtMs),
    headers: events.map((event) => JSON.stringify(event.headers)),
    finds: events.map((event) => packFind(ledger, event)),
    bodyFrom: from,
    bodyLength: length,
    bodies: Buffer.concat(bodies),
  };
}

const EVENTS_MAX = 500;
const BYTES_MAX = 16 * 1024 * 1024;

/** Of events that share a message, the first is in an earlier statement. */
export function chunkEvents<Item>(
  items: readonly Item[],
  eventOf: (item: Item) => EnvelopedEvent,
): Item[][] {
  const messages = new Set<string>();
  const repeats: Item[] = [];
  const firsts = items.filter((item) => {
    const message = messageText(eventOf(item));
    if (message === undefined) return true;
    const isFirst = !messages.has(message);
    if (isFirst) messages.add(message);
    else repeats.push(item);
    return isFirst;
  });
  return [...chunkBySize(firsts, eventOf), ...chunkBySize(repeats, eventOf)];
}

export function chunkBySize<Item>(
  items: readonly Item[],
  eventOf: (item: Item) => EnvelopedEvent,
): Item[][] {
  const chunks: Item[][] = [];
  let chunk: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = eventOf(item).body?.byteLength ?? 0;
    if (chunk.length >= EVENTS_MAX || (chunk.length > 0 && bytes + size > BYTES_MAX)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}
