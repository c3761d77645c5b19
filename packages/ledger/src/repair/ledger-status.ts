import type { EnvelopedEvent, ErrorCode, EventKey, EventStatus } from "@millrace/core";
import { isStorableKey, keyText, packKeys } from "../claims/event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { eventColumn } from "./stored-event.ts";
import { runStatement } from "../connection/transaction.ts";

export interface LedgerStatus {
  readonly event: EnvelopedEvent;
  readonly status: EventStatus;
  /** Of its last failed attempt; null when none has failed. */
  readonly errorCode: ErrorCode | null;
  /** By the database's clock: when it last became pending, and how long ago that is. */
  readonly pendingSinceMs: number;
  readonly pendingForMs: number;
  /** True when a job of it has been noted since then. */
  readonly enqueued: boolean;
  /** Milliseconds until its next attempt is due; 0 when it is. */
  readonly dueInMs: number;
  /** Where it stands among the pending events of its source; for `pendingPage`. */
  readonly cursor: string;
}

export const LEDGER_STATUS_COLUMNS = `${eventColumn("e")},
  e.status, e.last_error_code AS "errorCode", e.pending_since AS "pendingSince", e.enqueued_at IS NOT NULL AS enqueued,
  extract(epoch FROM now() - e.pending_since)::float8 * 1000 AS "pendingForMs",
  greatest(0, coalesce(extract(epoch FROM e.next_attempt_at - now())::float8 * 1000, 0)) AS "dueInMs",
  e.pending_since::text AS cursor`;

export type LedgerStatusColumns = Omit<LedgerStatus, "pendingSinceMs"> & {
  readonly pendingSince: Date;
};

export function toLedgerStatus({ pendingSince, ...row }: LedgerStatusColumns): LedgerStatus {
  return { ...row, pendingSinceMs: pendingSince.getTime() };
}

/** Looked up one at a time (LIMIT 1): a join may be answered from a hash of the whole table. */
const LEDGER_STATUSES = `
SELECT ${LEDGER_STATUS_COLUMNS}
FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
CROSS JOIN LATERAL (
  SELECT * FROM millrace.events l
  WHERE l.source = w.source AND l.event_id = w.event_id AND l.generation = w.generation
  LIMIT 1
) e`;

export async function ledgerStatuses(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<readonly (LedgerStatus | undefined)[]> {
  const query = {
    name: "millrace_standings",
    text: LEDGER_STATUSES,
    values: packKeys(keys.filter(isStorableKey)),
  };
  const { rows } = await runStatement<LedgerStatusColumns>(ledger.pool, query, ledger.short);
  const found = new Map(rows.map((row) => [keyText(row.event), toLedgerStatus(row)]));
  return keys.map((key) => found.get(keyText(key)));
}

const NOT_COMPLETED = `
SELECT w.position::int AS position
FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS w (source, event_id, generation, position)
WHERE (
  SELECT status = 'completed' FROM millrace.events l
  WHERE l.source = w.source AND l.event_id = w.event_id AND l.generation = w.generation
  LIMIT 1
) IS NOT TRUE`;

export async function areNotCompleted(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<readonly boolean[]> {
  const query = { name: "millrace_not_completed", text: NOT_COMPLETED, values: packKeys(keys) };
  const { rows } = await runStatement<{ position: number }>(ledger.pool, query, ledger.prepared);
  const positions = new Set(rows.map(({ position }) => position));
  return keys.map((_, index) => positions.has(index + 1));
}
