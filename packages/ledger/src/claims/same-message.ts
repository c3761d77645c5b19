import { signedDigest, type EnvelopedEvent } from "@millrace/core";

// The index events_signed finds deliveries of one signed message, in the order in which they came,
// where ids are not signed. A condition must read as the index does; no other condition may fit
// another index, since a plan from when the table was small would read all events of a source.

export const digestOf = (event: string) => `coalesce(${event}.digest, ${event}.body_hash)`;

export const timeOf = (event: string) => `(${event}.recorded_at AT TIME ZONE 'UTC')`;

/** A row `other` that has an unsigned id of the source, and the message with that digest. */
export const SAME_MESSAGE = (source: string, digest: string) => `
    other.unsigned AND other.generation = 0 AND ${digestOf("other")} = ${digest}
      AND other.source || '' = ${source}`;

/** The attempt after a record decides which of the two is the replay (suspect-replay.ts). */
export const CAME_BEFORE = (event: string) => `(
    SELECT true FROM millrace.events other
    WHERE ${SAME_MESSAGE(":source", `${event}.message`)} AND other.event_id <> ${event}.event_id
    LIMIT 1
  ) IS TRUE`;

/** Lock of a message: of events that have it in common, one is handled at a time. */
export const MESSAGE_LOCK = (source: string, digest: string) => `pg_try_advisory_xact_lock(
    hashtextextended(concat_ws(' ', 'millrace.body', ${source}, ${digest}), 0)
  )`;

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
  return `${event.source}\0${signedDigest(event)}\0${event.bodyHash}`;
}

/** Null where the id is signed, or where the hash of the body is the digest. */
export function keptDigest({ unsigned, generation, digest }: EnvelopedEvent): string | null {
  return unsigned && generation === 0 ? (digest ?? null) : null;
}
