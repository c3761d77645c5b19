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
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { Delivery } from "@millrace/api-contract";
import type { ErrorCode, EventStatus, LoggedLine, Outcome, StackFrame } from "@millrace/core";

// The tables as drizzle reads them. The migrations make them; a test compares the two.

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: "date" });
const bytes = customType<{ data: Buffer }>({ dataType: () => "bytea" });

export const millrace = pgSchema("millrace");

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
    fingerprint: text("fingerprint"),
    failedRun: text("failed_run"),
    enqueuedAt: instant("enqueued_at"),
    digest: text("digest"),
    ownHeaders: jsonb("own_headers").$type<Record<string, string>>(),
    nextAttemptAt: instant("next_attempt_at"),
    waits: integer("waits").notNull().default(0),
    refused: boolean("refused"),
    parentSource: text("parent_source"),
    parentEventId: text("parent_event_id"),
    parentGeneration: integer("parent_generation"),
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
    index("events_not_enqueued")
      .on(table.source, table.pendingSince, table.eventId, table.generation)
      .where(sql`status = 'pending' AND enqueued_at IS NULL`),
    index("events_signed")
      .on(sql`coalesce(digest, body_hash)`, sql`(recorded_at AT TIME ZONE 'UTC')`)
      .where(sql`unsigned AND generation = 0`),
    uniqueIndex("events_first")
      .on(sql`coalesce(digest, body_hash)`, table.source, table.type)
      .where(sql`refused = false`),
    index("events_refused")
      .on(table.source)
      .where(sql`refused`),
    index("events_emitted")
      .on(table.parentSource, table.parentEventId, table.parentGeneration)
      .where(sql`parent_source IS NOT NULL`),
    index("events_fingerprint")
      .on(table.fingerprint, table.status, table.recordedAt)
      .where(sql`fingerprint IS NOT NULL`),
    index("events_moved")
      .on(table.bodyDay, table.recordedAt, table.source, table.eventId, table.generation)
      .where(sql`body_day <> (recorded_at AT TIME ZONE 'UTC')::date`),
  ],
);

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
    fingerprint: text("fingerprint"),
    stack: jsonb("stack").$type<readonly StackFrame[]>(),
    log: jsonb("log").$type<readonly LoggedLine[]>(),
    logDropped: integer("log_dropped"),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId, table.generation, table.attempt] }),
  ],
);

export const conflicts = millrace.table(
  "conflicts",
  {
    source: text("source").notNull(),
    eventId: text("event_id").notNull(),
    bodyHash: text("body_hash").notNull(),
    deliveries: integer("deliveries").notNull().default(1),
    firstSeenAt: instant("first_seen_at").notNull(),
    lastSeenAt: instant("last_seen_at").notNull(),
    type: text("type"),
    bodyDay: date("body_day"),
    bodyId: bigint("body_id", { mode: "bigint" }),
  },
  (table) => [primaryKey({ columns: [table.source, table.eventId, table.bodyHash] })],
);

export type StoredDelivery = Omit<Delivery, "at"> & { readonly at: number };

export const deliveries = millrace.table(
  "deliveries",
  {
    repeats: integer("repeats").notNull(),
    source: text("source").notNull(),
    eventId: text("event_id").notNull(),
    recent: jsonb("recent").$type<readonly StoredDelivery[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.eventId] })],
);

export const steps = millrace.table(
  "steps",
  {
    source: text("source").notNull(),
    eventId: text("event_id").notNull(),
    generation: integer("generation").notNull(),
    name: text("name").notNull(),
    attempt: integer("attempt").notNull(),
    result: text("result"),
    recordedAt: instant("recorded_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.eventId, table.generation, table.name] })],
);
