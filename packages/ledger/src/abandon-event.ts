import type { EnvelopedEvent, ErrorCode, EventKey, EventStatus } from "@millrace/core";
import { accept } from "./accept.ts";
import { cutText } from "./cut-text.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { runStatement } from "./transaction.ts";

/** Why an event fails without an attempt, and in which run of its job. */
export interface AbandonReason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly run: string;
}

/** `failed` now; settled before; or `unknown`: the ledger does not have it, and was given no body or may
 * have deleted it. */
export type AbandonAnswer = "failed" | "already_failed" | "completed" | "unknown";

/**
 * Fails a pending event whose job the queue abandoned without running a handler. An event that the
 * ledger does not know is recorded first if its body was passed, unless it was accepted longer ago than
 * keys are kept: it may have been completed since. Waits for an attempt that is still running.
 *
 * @throws `database_unavailable`, also when an attempt holds the event for longer than lock_timeout.
 */
export async function abandonEvent(
  ledger: LedgerContext,
  event: EventKey | EnvelopedEvent,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const answer = await abandonKnown(ledger, event, reason);
  if (answer !== "unknown" || !("body" in event) || event.body === undefined) return answer;
  if (await isExpired(ledger, event)) return answer;
  // When the process dies in between, the event is pending without a job, as it would be anyway.
  const [placement] = await accept(ledger, [{ ...event, body: event.body }]);
  if (placement instanceof Error) throw placement;
  return await abandonKnown(ledger, event, reason);
}

/** Fails a pending event that no attempt will settle; returns the status it had before. */
const GIVE_UP = `
WITH target AS (
  SELECT source, event_id, generation, status, attempts, started_at FROM millrace.events
  WHERE source = $1 AND event_id = $2 AND generation = $3
  FOR UPDATE
),
failed AS (
  UPDATE millrace.events e
  SET status = 'failed', processed_at = clock_timestamp(),
    last_error_code = $4, last_error = $5, failed_run = $6
  FROM target
  WHERE target.status = 'pending'
    AND e.source = target.source AND e.event_id = target.event_id
    AND e.generation = target.generation
),
logged AS (
  INSERT INTO millrace.attempts (
    source, event_id, generation, attempt, started_at, code, message, counted
  )
  SELECT source, event_id, generation, attempts, started_at, $4, $5, true
  FROM target WHERE status = 'pending'
  ON CONFLICT DO NOTHING
)
SELECT status FROM target`;

/** Whether an event accepted at $1 (milliseconds) may have been deleted since ($2, days). */
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
  ledger: LedgerContext,
  key: EventKey,
  reason: AbandonReason,
): Promise<AbandonAnswer> {
  const { source, eventId, generation } = key;
  const values = [source, eventId, generation, reason.code, cutText(reason.message), reason.run];
  const { rows } = await runStatement<{ status: EventStatus }>(
    ledger.pool,
    { text: GIVE_UP, values },
    ledger.short,
  );
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
