import type { ErrorCode, EventStatus, Outcome } from "@millrace/core";
import { events } from "./schema.ts";

/** An event as it goes out: JSON-ready, in snake case, times in ISO 8601. */
export interface EventRow {
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
  readonly type: string;
  readonly status: EventStatus;
  readonly outcome: Outcome | null;
  readonly attempts: number;
  readonly unsigned: boolean;
  /** The ingress's clock. */
  readonly received_at: string;
  /** The database's clock when the ledger first saw it; lists are ordered by it. */
  readonly recorded_at: string;
  readonly started_at: string | null;
  /** When it was completed or failed. */
  readonly processed_at: string | null;
  /** Kept when a later attempt succeeds. */
  readonly last_error: string | null;
  readonly last_error_code: ErrorCode | null;
}

/** The columns that `toEventRow` reads. */
export const EVENT_COLUMNS = {
  source: events.source,
  eventId: events.eventId,
  generation: events.generation,
  type: events.type,
  status: events.status,
  outcome: events.outcome,
  attempts: events.attempts,
  unsigned: events.unsigned,
  receivedAt: events.receivedAt,
  recordedAt: events.recordedAt,
  startedAt: events.startedAt,
  processedAt: events.processedAt,
  lastError: events.lastError,
  lastErrorCode: events.lastErrorCode,
} as const;

type Columns = { [Name in keyof typeof EVENT_COLUMNS]: (typeof events.$inferSelect)[Name] };

/** Turns a row of the ledger into what goes out. */
export function toEventRow(row: Columns): EventRow {
  return {
    source: row.source,
    event_id: row.eventId,
    generation: row.generation,
    type: row.type,
    status: row.status,
    outcome: row.outcome,
    attempts: row.attempts,
    unsigned: row.unsigned,
    received_at: row.receivedAt.toISOString(),
    recorded_at: row.recordedAt.toISOString(),
    started_at: row.startedAt?.toISOString() ?? null,
    processed_at: row.processedAt?.toISOString() ?? null,
    last_error: row.lastError,
    last_error_code: row.lastErrorCode,
  };
}
