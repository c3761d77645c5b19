import { MillraceError, type EventKey, type LockedEvent } from "@millrace/core";
import type pg from "pg";
import { LOCK, READ_BODY } from "./sql/lock.ts";
import { together } from "./together.ts";
import type { TransactionLimits } from "./transaction.ts";

export interface LockedRow {
  readonly event: LockedEvent;
  /** Names the transaction that holds the row, so that the event is settled in no other. */
  readonly transactionId: string;
  /** Where the row lies in its table, for as long as that transaction lasts. */
  readonly place: string;
}

interface LockRow {
  readonly body_day: string;
  readonly body_id: string;
  readonly transaction_id: string;
  readonly place: string;
  readonly headers: Record<string, string> | null;
  readonly body: Buffer | null;
}

/**
 * Begins a transaction, locks an attempt's event and reads it, in one round trip. Undefined when the
 * event is not pending or its attempts are not ours.
 *
 * @throws `body_missing`
 */
export async function lockEvent(
  client: pg.PoolClient,
  claim: { readonly key: EventKey; readonly attempt: number },
  limits: TransactionLimits,
): Promise<LockedRow | undefined> {
  const { source, eventId, generation } = claim.key;
  // Most events are handled on the day they came.
  const today = new Date().toISOString().slice(0, 10);
  const milliseconds = [limits.lockTimeoutMs, limits.statementTimeoutMs, limits.idleTimeoutMs];
  const [, locked] = await together(client, [
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
  return { event, transactionId: row.transaction_id, place: row.place };
}

// What set_config takes.
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
