import type {
  Attempt,
  Conflict,
  EmittedBy,
  EmittedEvents,
  EventRow,
  Generation,
  SameMessage,
} from "@millrace/api-contract";
import type { PgColumn } from "drizzle-orm/pg-core";
import { attempts, conflicts, events } from "../schema/schema.ts";

// The columns of an event by their wire names; a column here or in the contract alone fails to
// compile.

type ColumnsOf<Row> = Readonly<Record<keyof Row, PgColumn>>;

export const EVENT_COLUMNS = {
  source: events.source,
  event_id: events.eventId,
  generation: events.generation,
  type: events.type,
  status: events.status,
  outcome: events.outcome,
  attempts: events.attempts,
  unsigned: events.unsigned,
  received_at: events.receivedAt,
  recorded_at: events.recordedAt,
  started_at: events.startedAt,
  processed_at: events.processedAt,
  next_attempt_at: events.nextAttemptAt,
  last_error: events.lastError,
  last_error_code: events.lastErrorCode,
  fingerprint: events.fingerprint,
} satisfies ColumnsOf<EventRow>;

export const GENERATION_COLUMNS = {
  generation: events.generation,
  status: events.status,
  outcome: events.outcome,
  attempts: events.attempts,
  recorded_at: events.recordedAt,
  processed_at: events.processedAt,
  last_error: events.lastError,
} satisfies ColumnsOf<Generation>;

export const SAME_MESSAGE_COLUMNS = {
  event_id: events.eventId,
  type: events.type,
  status: events.status,
  outcome: events.outcome,
  recorded_at: events.recordedAt,
  last_error_code: events.lastErrorCode,
} satisfies ColumnsOf<SameMessage["events"][number]>;

export const PARENT_COLUMNS = {
  source: events.parentSource,
  event_id: events.parentEventId,
  generation: events.parentGeneration,
} satisfies ColumnsOf<EmittedBy>;

export const EMITTED_COLUMNS = {
  source: events.source,
  ...SAME_MESSAGE_COLUMNS,
} satisfies ColumnsOf<EmittedEvents["events"][number]>;

export const ATTEMPT_COLUMNS = {
  attempt: attempts.attempt,
  started_at: attempts.startedAt,
  finished_at: attempts.finishedAt,
  code: attempts.code,
  message: attempts.message,
  counted: attempts.counted,
  fingerprint: attempts.fingerprint,
  stack: attempts.stack,
  log: attempts.log,
  log_dropped: attempts.logDropped,
} satisfies ColumnsOf<Attempt>;

export const CONFLICT_COLUMNS = {
  type: conflicts.type,
  body_hash: conflicts.bodyHash,
  deliveries: conflicts.deliveries,
  first_seen_at: conflicts.firstSeenAt,
  last_seen_at: conflicts.lastSeenAt,
} satisfies ColumnsOf<Omit<Conflict, "kept">>;
