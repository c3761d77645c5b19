import {
  identifyError,
  type EnvelopedEvent,
  type ErrorCode,
  type EventKey,
  type EventStatus,
} from "@millrace/core";
import type pg from "pg";
import { accept } from "../intake/accept.ts";
import { COUNT_ERROR, groupValues } from "./fail.ts";
import { cutText } from "../connection/cut-text.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { recordWithoutBody, restoreReplay } from "./lost-events.ts";
import { statement } from "../connection/statement.ts";
import { runStatement, transaction, type Send } from "../connection/transaction.ts";

export interface AbandonReason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly run: string;
}

/** `failed` now; settled before; or `unknown`: not in the ledger, and without a body or expired. */
export type AbandonAnswer = "failed" | "already_failed" | "completed" | "unknown";

/**
 * Fails a pending event whose job was abandoned; records an unknown one first, if it has a body.
 * @throws `database_unavailable`, also when an attempt holds the event longer than lock_timeout
 */
export async function abandonEvent(
  ledger: LedgerContext,
  event: EventKey | EnvelopedEvent,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const send: Send = (query) => runStatement(ledger.pool, query, ledger.short);
  const answer = await abandonKnown(send, event, reason);
  if (answer === "unknown" && reason.code === "replay_lost") {
    await restoreReplay(ledger, event);
    return await abandonKnown(send, event, reason);
  }
  if (answer !== "unknown" || !("body" in event)) return answer;
  if (event.body === undefined && reason.code !== "body_lost") return answer;
  if (await isExpired(ledger, event)) return answer;
  if (event.body === undefined) return await abandonWithoutBody(ledger, event, reason);
  const [result] = await accept(ledger, [{ ...event, body: event.body }]);
  if (result instanceof Error) throw result;
  return await abandonKnown(send, event, reason);
}

/** One commit: a promoted standby must not have the event pending without its failure. */
async function abandonWithoutBody(
  ledger: LedgerContext,
  event: EnvelopedEvent,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const work = async (client: pg.PoolClient) => {
    const send: Send = (query) => client.query(query);
    await recordWithoutBody(send, event);
    return await abandonKnown(send, event, reason);
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

const IS_EXPIRED =
  "SELECT to_timestamp($1::float8 / 1000) < now() - make_interval(days => $2::int) AS expired";

async function isExpired(
  ledger: LedgerContext,
  { acceptedAtMs }: EnvelopedEvent,
): Promise<boolean> {
  const { rows } = await runStatement<{ expired: boolean }>(
    ledger.pool,
    { text: IS_EXPIRED, values: [acceptedAtMs, ledger.keysDays] },
    ledger.short,
  );
  return rows[0]?.expired === true;
}

async function abandonKnown(
  send: Send,
  key: EventKey,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const { code, message, run } = reason;
  const group = groupValues(identifyError({ code, text: message }));
  const query = GIVE_UP({ ...key, ...group, code, message: cutText(message), run });
  const { rows } = await send<{ status: EventStatus }>(query);
  switch (rows[0]?.status) {
    case "pending":
      return "failed";
    case "failed":
      return "already_failed";
    case "completed":
      return "completed";
    default:
      return "unknown";
  }
}
