import {
  bigint,
  boolean,
  customType,
  date,
  integer,
  jsonb,
  pgSchema,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import type { Delivery } from "@millrace/api-contract";
import type { ErrorCode, EventStatus, LoggedLine, Outcome, StackFrame } from "@millrace/core";

// The columns as drizzle reads them. The migrations make the tables; a test compares the two.

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: "date" });
const bytes = customType<{ data: Buffer }>({ dataType: () => "bytea" });

const millrace = pgSchema("millrace");

export const events = millrace.table("events", {
  recordedAt: instant("recorded_at").notNull(),
  receivedAt: instant("received_at").notNull(),
  pendingSince: instant("pending_since").notNull(),
  startedAt: instant("started_at"),
  processedAt: instant("processed_at"),
  bodyId: bigint("body_id", { mode: "bigint" }).notNull(),
  bodyDay: date("body_day", { mode: "string" }).notNull(),
  generation: integer("generation").notNull(),
  attempts: integer("attempts").notNull(),
  attemptsAtRetry: integer("attempts_at_retry").notNull(),
  unsigned: boolean("unsigned").notNull(),
  source: text("source").notNull(),
  eventId: text("event_id").notNull(),
  type: text("type").notNull(),
  status: text("status").$type<EventStatus>().notNull(),
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
  waits: integer("waits").notNull(),
  refused: boolean("refused"),
  parentSource: text("parent_source"),
  parentEventId: text("parent_event_id"),
  parentGeneration: integer("parent_generation"),
});

export const bodies = millrace.table("bodies", {
  day: date("day", { mode: "string" }).notNull(),
  id: bigint("id", { mode: "bigint" }).notNull(),
  headers: jsonb("headers").$type<Record<string, string>>().notNull(),
  body: bytes("body").notNull(),
});

export const attempts = millrace.table("attempts", {
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
});

export const conflicts = millrace.table("conflicts", {
  source: text("source").notNull(),
  eventId: text("event_id").notNull(),
  bodyHash: text("body_hash").notNull(),
  deliveries: integer("deliveries").notNull(),
  firstSeenAt: instant("first_seen_at").notNull(),
  lastSeenAt: instant("last_seen_at").notNull(),
  type: text("type"),
  bodyDay: date("body_day"),
  bodyId: bigint("body_id", { mode: "bigint" }),
});

export type StoredDelivery = Omit<Delivery, "at"> & { readonly at: number };

export const deliveries = millrace.table("deliveries", {
  repeats: integer("repeats").notNull(),
  source: text("source").notNull(),
  eventId: text("event_id").notNull(),
  recent: jsonb("recent").$type<readonly StoredDelivery[]>().notNull(),
});

export const steps = millrace.table("steps", {
  source: text("source").notNull(),
  eventId: text("event_id").notNull(),
  generation: integer("generation").notNull(),
  name: text("name").notNull(),
  attempt: integer("attempt").notNull(),
  result: text("result"),
  recordedAt: instant("recorded_at").notNull(),
});
