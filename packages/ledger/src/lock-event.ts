import { MillraceError, type EventKey, type LockedEvent } from "@millrace/core";
import type pg from "pg";
import { pipeline } from "./connection.ts";
import type { TransactionLimits } from "./transaction.ts";

/** An event whose row this transaction has locked. */
export interface RowLock {
  readonly event: LockedEvent;
  /** The transaction that holds the row, so that the event is settled in no other. */
  readonly transactionId: string;
  /** The row's address in its table, valid for as long as that transaction lasts. */
  readonly ctid: string;
}

interface LockRow {
  readonly body_day: string;
  readonly body_id: string;
  readonly transaction_id: string;
  readonly ctid: string;
  readonly headers: Record<string, string> | null;
  readonly body: Buffer | null;
}

/**
 * Locks an attempt's event and reads it. The body is looked up in one day's partition only: a plan over
 * all partitions would lock each of them, every time. If the event's body is in another partition, the
 * row comes without it and `READ_BODY` reads it. The statement also sets the handler's limits ($5 to $7,
 * milliseconds), which costs less than a SET for each; they apply before the row is locked. Sequential
 * scans, which were off while this was planned, are on again for the handler.
 */
const LOCK = (day: string) => `
WITH limits AS MATERIALIZED (
  SELECT set_config('lock_timeout', $5, true), set_config('statement_timeout', $6, true),
    set_config('idle_in_transaction_session_timeout', $7, true),
    set_config('enable_seqscan', 'on', true)
)
SELECT e.body_day::text AS body_day, e.body_id, e.ctid::text AS ctid,
  pg_current_xact_id()::text AS transaction_id, b.headers, b.body
FROM limits CROSS JOIN millrace.events e
LEFT JOIN millrace.bodies b ON b.day = DATE '${day}' AND b.id = e.body_id AND e.body_day = b.day
WHERE e.source = $1 AND e.event_id = $2 AND e.generation = $3
  AND e.status = 'pending' AND e.attempts = $4
FOR UPDATE OF e`;

const READ_BODY = `SELECT headers, body FROM millrace.bodies WHERE day = $1::date AND id = $2`;

/**
 * Begins a transaction, locks an attempt's event and reads it, in one round trip. Undefined when the
 * event is not pending or a later attempt has claimed it.
 *
 * @throws `body_missing`
 */
export async function lockEvent(
  client: pg.PoolClient,
  claim: { readonly key: EventKey; readonly attempt: number },
  limits: TransactionLimits,
): Promise<RowLock | undefined> {
  const { source, eventId, generation } = claim.key;
  // Most events are handled on the day they arrive.
  const today = new Date().toISOString().slice(0, 10);
  const milliseconds = [limits.lockTimeoutMs, limits.statementTimeoutMs, limits.idleTimeoutMs];
  const [, locked] = await pipeline(client, [
    { text: "BEGIN; SET LOCAL enable_seqscan = off" },
    {
      name: `millrace_lock_${today}`,
      text: LOCK(today),
      values: [source, eventId, generation, claim.attempt, ...milliseconds.map(wholeText)],
    },
  ]);
  const row = (locked as pg.QueryResult<LockRow>).rows[0];
  if (row === undefined) return undefined;
  const event = toEvent(row) ?? (await readBody(client, row));
  if (event === undefined) {
    throw new MillraceError(
      "body_missing",
      `Cannot read the event's body: it is not among the bodies of ${row.body_day}`,
    );
  }
  return { event, transactionId: row.transaction_id, ctid: row.ctid };
}

// set_config takes text.
function wholeText(milliseconds: number): string {
  return String(Math.ceil(milliseconds));
}

async function readBody(client: pg.PoolClient, row: LockRow): Promise<LockedEvent | undefined> {
  const { rows } = await client.query<Pick<LockRow, "headers" | "body">>(READ_BODY, [
    row.body_day,
    row.body_id,
  ]);
  return rows[0] === undefined ? undefined : toEvent(rows[0]);
}

function toEvent({ headers, body }: Pick<LockRow, "headers" | "body">): LockedEvent | undefined {
  return headers === null || body === null ? undefined : { headers, body, suspectedReplay: false };
}
