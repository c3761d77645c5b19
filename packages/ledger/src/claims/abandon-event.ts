import {
  identifyError,
  type EnvelopedEvent,
  type ErrorCode,
  type EventKey,
  type EventStatus,
  type IncomingEvent,
} from "@millrace/core";
import type pg from "pg";
import { accept } from "../intake/accept.ts";
import { COUNT_ERROR, groupValues } from "./fail.ts";
import { cutText } from "../connection/cut-text.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { statement } from "../connection/statement.ts";
import { transaction } from "../connection/transaction.ts";
import { BODY_KEPT } from "../schema/bodies.ts";
import { keptDigest } from "./same-message.ts";

export interface AbandonReason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly run: string;
}

/** By the status before: `pending` is failed now. */
const ANSWERS = { pending: "failed", failed: "already_failed", completed: "completed" } as const;

/** `unknown`: not in the ledger, and without a body or expired. */
export type AbandonAnswer = (typeof ANSWERS)[EventStatus] | "unknown";

/**
 * Fails a pending event whose job was abandoned; records an unknown one first, if it has a body.
 * @throws `database_unavailable`, also when an attempt holds the event longer than lock_timeout
 */
export async function abandonEvent(
  ledger: LedgerContext,
  event: EventKey | EnvelopedEvent,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const answer = await abandonKnown(ledger, event, reason);
  if (answer === "unknown" && reason.code === "replay_lost") {
    const { source, eventId, generation } = event;
    await ledger.send({ text: RESTORE_REPLAY, values: [source, eventId, generation] });
    return await abandonKnown(ledger, event, reason);
  }
  if (answer !== "unknown" || !("body" in event)) return answer;
  if (event.body === undefined && reason.code !== "body_lost") return answer;
  if (await isExpired(ledger, event)) return answer;
  if (event.body === undefined) return await abandonWithoutBody(ledger, event, reason);
  const [result] = await accept(ledger, [{ ...event, body: event.body }]);
  if (result instanceof Error) throw result;
  return await abandonKnown(ledger, event, reason);
}

/**
 * Its row reserves the id of a body, which its sender's redelivery fills. One commit: a promoted
 * standby must not have the event pending without its failure.
 */
async function abandonWithoutBody(
  ledger: LedgerContext,
  event: EnvelopedEvent,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const { source, eventId, generation, type, bodyHash, unsigned, acceptedAtMs } = event;
  const identity = [source, eventId, generation, type, bodyHash, unsigned, keptDigest(event)];
  const work = async (client: pg.PoolClient) => {
    await client.query(RECORD_BODILESS, [...identity, acceptedAtMs]);
    return await abandonKnown({ send: (query) => client.query(query) }, event, reason);
  };
  return await transaction(ledger.pool, work, ledger.short);
}

const GIVE_UP = statement(`
WITH target AS (
  SELECT source, event_id, generation, type, status, attempts, started_at FROM millrace.events
  WHERE source = :source AND event_id = :eventId AND generation = :generation
  FOR UPDATE
),
failed AS (
  UPDATE millrace.events e
  SET status = 'failed', processed_at = clock_timestamp(),
    last_error_code = :code, last_error = :message, fingerprint = :fingerprint, failed_run = :run, next_attempt_at = NULL
  FROM target
  WHERE target.status = 'pending'
    AND e.source = target.source AND e.event_id = target.event_id
    AND e.generation = target.generation
),
logged AS (
  INSERT INTO millrace.attempts (
    source, event_id, generation, attempt, started_at, code, message, counted, fingerprint
  )
  SELECT source, event_id, generation, attempts, started_at, :code, :message, true, :fingerprint
  FROM target WHERE status = 'pending'
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation, code, (SELECT type FROM target) AS type
),
${COUNT_ERROR}
SELECT status FROM target`);

async function isExpired(
  ledger: LedgerContext,
  { acceptedAtMs }: EnvelopedEvent,
): Promise<boolean> {
  const text =
    "SELECT to_timestamp($1::float8 / 1000) < now() - make_interval(days => $2::int) AS expired";
  const values = [acceptedAtMs, ledger.keysDays];
  const { rows } = await ledger.send<{ expired: boolean }>({ text, values });
  return rows[0]?.expired === true;
}

async function abandonKnown(
  { send }: Pick<LedgerContext, "send">,
  key: EventKey,
  { code, message, run }: AbandonReason,
): Promise<AbandonAnswer> {
  const group = groupValues(identifyError({ code, text: message }));
  const query = GIVE_UP({ ...key, ...group, code, message: cutText(message), run });
  const { rows } = await send<{ status: EventStatus }>(query);
  const [row] = rows;
  return row === undefined ? "unknown" : ANSWERS[row.status];
}

const RECORD_BODILESS = `
INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned, digest, received_at, body_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), nextval('millrace.body_id'))
ON CONFLICT DO NOTHING`;

/** The day's bodies may have been dropped since. */
const RESTORE_BODY = `
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT e.body_day, e.body_id, $4::jsonb, $5::bytea
FROM millrace.events e
WHERE e.source = $1 AND e.event_id = $2 AND e.generation = 0 AND e.body_hash = $3
  AND e.status = 'failed' AND e.last_error_code = 'body_lost' AND NOT ${BODY_KEPT("e")}
  AND to_regclass('millrace.bodies_' || to_char(e.body_day, 'YYYYMMDD')) IS NOT NULL
ON CONFLICT DO NOTHING`;

/** Keeps the redelivered body of an event whose body was lost; true when it was needed. */
export async function restoreBody(
  ledger: LedgerContext,
  { source, eventId, bodyHash, headers, body }: IncomingEvent,
): Promise<boolean> {
  const values = [source, eventId, bodyHash, JSON.stringify(headers), body];
  return (await ledger.send({ text: RESTORE_BODY, values })).rowCount === 1;
}

/** A body of another day is copied to today's partition, as a replay does. */
const RESTORE_REPLAY = `
WITH before AS MATERIALIZED (
  SELECT e.* FROM millrace.events e
  WHERE e.source = $1 AND e.event_id = $2 AND e.generation < $3 AND ${BODY_KEPT("e")}
  ORDER BY e.generation DESC LIMIT 1
),
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, body_id, find,
    parent_source, parent_event_id, parent_generation
  )
  SELECT source, event_id, $3, type, body_hash, unsigned, received_at, body_id, find,
    parent_source, parent_event_id, parent_generation
  FROM before
  ON CONFLICT DO NOTHING
  RETURNING body_day, body_id
)
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT f.body_day, b.id, b.headers, b.body
FROM fresh f CROSS JOIN before JOIN millrace.bodies b ON b.day = before.body_day AND b.id = before.body_id
WHERE before.body_day <> f.body_day
ON CONFLICT DO NOTHING`;
