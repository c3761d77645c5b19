import { findValues, signedDigest, type EnvelopedEvent } from "@millrace/core";
import type pg from "pg";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { statement } from "../connection/statement.ts";

// Where ids are not signed, anyone who has a signed message can send it again, under ids and types
// that they make up. The index events_signed finds deliveries of one message, in the order in which
// they came. A condition must read as the index does; no other condition may fit another index,
// since a plan from when the table was small would read all events of a source.

const digestOf = (event: string) => `coalesce(${event}.digest, ${event}.body_hash)`;

const timeOf = (event: string) => `(${event}.recorded_at AT TIME ZONE 'UTC')`;

/** A row `other` that has an unsigned id of the source, and the message with that digest. */
const SAME_MESSAGE = (source: string, digest: string) => `
    other.unsigned AND other.generation = 0 AND ${digestOf("other")} = ${digest}
      AND other.source || '' = ${source}`;

/** The same where `other` came first as its type (the index events_first). */
const FIRST_OF_MESSAGE = (source: string, digest: string) => `
    other.refused = false AND ${digestOf("other")} = ${digest} AND other.source = ${source}`;

/** A record decides whether the event may run. */
export const CAME_BEFORE = (event: string) => `(
    SELECT true FROM millrace.events other
    WHERE ${FIRST_OF_MESSAGE(":source", `${event}.message`)} AND other.event_id <> ${event}.event_id
    LIMIT 1
  ) IS TRUE`;

/** Of first attempts that have a message in common, one begins at a time. */
export const MESSAGE_LOCK = (source: string, digest: string) => `pg_try_advisory_xact_lock(
    hashtextextended(concat_ws(' ', 'millrace.body', ${source}, ${digest}), 0)
  )`;

/** The part of an id before its last `|`, such as a shop, without the type. */
const scopeOf = (event: string) =>
  `replace(regexp_replace(${event}.event_id, '[^|]*$', ''), ${event}.type || '|', '')`;
/** The part of a type before its last `.` or `/`; null for none. */
const resourceOf = (event: string) => `substring(${event}.type from '^(.*)[./]')`;

/**
 * True for a copy: `other` has the message of `event`. Not if it is another type of the same
 * resource within a day: senders publish one body as `orders/create` and `orders/paid`.
 */
export const IS_COPY = (event: string) => `(
    SELECT true FROM millrace.events other
    WHERE ${FIRST_OF_MESSAGE(`${event}.source`, digestOf(event))} AND other.event_id <> ${event}.event_id
      AND NOT (
        other.type <> ${event}.type AND ${scopeOf("other")} = ${scopeOf(event)}
        AND (${resourceOf("other")} = ${resourceOf(event)}) IS TRUE
        AND other.recorded_at > now() - interval '24 hours'
      )
    LIMIT 1
  ) IS TRUE`;

export const FIRST_OF_COPY = (event: string) => `(
    SELECT json_build_object('eventId', other.event_id, 'type', other.type,
      'recordedAtMs', floor(extract(epoch FROM other.recorded_at) * 1000))
    FROM millrace.events other
    WHERE ${FIRST_OF_MESSAGE(`${event}.source`, digestOf(event))} AND other.event_id <> ${event}.event_id
    ORDER BY ${timeOf("other")} LIMIT 1
  )`;

/** In one order; the next statement sees the last holder's record. No handler runs under this. */
const LOCK_MESSAGES = statement(
  `
SELECT pg_advisory_xact_lock(key) FROM (
  SELECT DISTINCT hashtextextended(concat_ws(' ', 'millrace.message', source, message), 0) AS key
  FROM unnest(:sources::text[], :messages::text[]) AS m (source, message)
  ORDER BY key
) AS ordered`,
  "millrace_lock_messages",
);

export function lockMessages(
  ledger: LedgerContext,
  events: readonly EnvelopedEvent[],
): pg.QueryConfig[] {
  const repeatable = events.filter((event) => isRepeatable(ledger, event));
  if (repeatable.length === 0) return [];
  const sources = repeatable.map(({ source }) => source);
  return [LOCK_MESSAGES({ sources, messages: repeatable.map(signedDigest) })];
}

/** True where an id can be made up for a signed message. Our own replays are asked for. */
export function isRepeatable(
  { bodyDedup }: Pick<LedgerContext, "bodyDedup">,
  { source, unsigned, generation }: EnvelopedEvent,
): boolean {
  return unsigned && generation === 0 && bodyDedup(source);
}

/** The values of an event as Postgres writes an array; null without any, as in most sources. */
export function packFind(
  { find }: Pick<LedgerContext, "find">,
  { source, body }: Pick<EnvelopedEvent, "source" | "body">,
): string | null {
  const paths = find.get(source);
  const values = paths?.length ? findValues(paths, body) : [];
  if (values.length === 0) return null;
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** An equal body of today: neither event loses it earlier than the other. */
export const COMMON_BODY = `
  CASE WHEN i.unsigned AND i.generation = 0 AND i.body_from IS NOT NULL THEN (
    SELECT other.body_id FROM millrace.events other
    WHERE ${SAME_MESSAGE("i.source", digestOf("i"))}
      AND ${timeOf("other")} >= date_trunc('day', now() AT TIME ZONE 'UTC')
      AND other.body_day + 0 = (now() AT TIME ZONE 'UTC')::date
      AND other.body_hash || '' = i.body_hash AND other.event_id || '' <> i.event_id
    LIMIT 1
  ) END`;

export function messageText(event: EnvelopedEvent): string | undefined {
  if (!event.unsigned || event.generation > 0) return undefined;
  return `${event.source}\0${signedDigest(event)}`;
}

/** Null where the id is signed, or where the hash of the body is the digest. */
export function keptDigest({ unsigned, generation, digest }: EnvelopedEvent): string | null {
  return unsigned && generation === 0 ? (digest ?? null) : null;
}
