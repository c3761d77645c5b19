import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  customType,
  date,
  index,
  integer,
  jsonb,
  pgSchema,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import type { ErrorCode, EventStatus, Outcome } from "@millrace/core";

// The tables as drizzle reads them. The migrations make them; a test compares the two.

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: "date" });
const bytes = customType<{ data: Buffer }>({ dataType: () => "bytea" });

export const millrace = pgSchema("millrace");

/** One narrow row an event and generation. */
export const events = millrace.table(
  "events",
  {
    recordedAt: instant("recorded_at").notNull().defaultNow(),
    receivedAt: instant("received_at").notNull(),
    pendingSince: instant("pending_since").notNull().defaultNow(),
    startedAt: instant("started_at"),
    processedAt: instant("processed_at"),
    bodyId: bigint("body_id", { mode: "bigint" }).notNull(),
    bodyDay: date("body_day", { mode: "string" }).notNull(),
    generation: integer("generation").notNull(),
    attempts: integer("attempts").notNull().default(0),
    attemptsAtRetry: integer("attempts_at_retry").notNull().default(0),
    unsigned: boolean("unsigned").notNull(),
    source: text("source").notNull(),
    eventId: text("event_id").notNull(),
    type: text("type").notNull(),
    status: text("status").$type<EventStatus>().notNull().default("pending"),
    outcome: text("outcome").$type<Outcome>(),
    bodyHash: text("body_hash").notNull(),
    lastError: text("last_error"),
    lastErrorCode: text("last_error_code").$type<ErrorCode>(),
    failedRun: text("failed_run"),
    enqueuedAt: instant("enqueued_at"),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId, table.generation] }),
    index("events_recorded_at").on(table.recordedAt),
    index("events_pending")
      .on(table.source, table.pendingSince, table.eventId, table.generation)
      .where(sql`status = 'pending'`),
    index("events_failed")
      .on(table.recordedAt)
      .where(sql`status = 'failed'`),
    index("events_processed_at")
      .on(table.processedAt)
      .where(sql`processed_at IS NOT NULL`),
    index("events_unplaced")
      .on(table.source, table.pendingSince, table.eventId, table.generation)
      .where(sql`status = 'pending' AND enqueued_at IS NULL`),
    index("events_unsigned_body")
      .on(table.source, table.bodyHash)
      .where(sql`unsigned`),
    index("events_moved")
      .on(table.bodyDay, table.recordedAt, table.source, table.eventId, table.generation)
      .where(sql`body_day <> (recorded_at AT TIME ZONE 'UTC')::date`),
  ],
);

/** Headers and bytes, partitioned by day. */
export const bodies = millrace.table(
  "bodies",
  {
    day: date("day", { mode: "string" }).notNull(),
    id: bigint("id", { mode: "bigint" }).notNull(),
    headers: jsonb("headers").$type<Record<string, string>>().notNull(),
    body: bytes("body").notNull(),
  },
  (table) => [primaryKey({ columns: [table.day, table.id] })],
);

/** Failed attempts, and why. */
export const attempts = millrace.table(
  "attempts",
  {
    source: text("source").notNull(),
    eventId: text("event_id").notNull(),
    generation: integer("generation").notNull(),
    attempt: integer("attempt").notNull(),
    startedAt: instant("started_at"),
    finishedAt: instant("finished_at").notNull(),
    code: text("code").$type<ErrorCode>().notNull(),
    message: text("message").notNull(),
    counted: boolean("counted").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId, table.generation, table.attempt] }),
  ],
);

/** Deliveries of known events with another body. */
export const conflicts = millrace.table(
  "conflicts",
  {
    source: text("source").notNull(),
    eventId: text("event_id").notNull(),
    bodyHash: text("body_hash").notNull(),
    deliveries: integer("deliveries").notNull().default(1),
    firstSeenAt: instant("first_seen_at").notNull(),
    lastSeenAt: instant("last_seen_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.eventId, table.bodyHash] })],
);
