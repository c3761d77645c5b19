import { sql } from "drizzle-orm";
import { bigint, integer, pgSchema, primaryKey, text, timestamp } from "drizzle-orm/pg-core";

// The store's tables, as the files in migrations/ make them.
const store = pgSchema("store");

export const users = store.table("users", {
  id: text().primaryKey(),
  email: text().notNull(),
  name: text().notNull(),
  subscriptionTier: text("subscription_tier"),
  subscriptionStatus: text("subscription_status"),
});

export const payments = store.table("payments", {
  id: text().primaryKey(),
  userId: text("user_id"),
  /** In the currency's smallest unit: cents. */
  amount: bigint({ mode: "number" }).notNull(),
  status: text({ enum: ["completed", "refunded"] }).notNull(),
});

export const carriers = store.table("carriers", {
  name: text().primaryKey(),
});

export const shipments = store.table("shipments", {
  orderId: text("order_id").primaryKey(),
  carrier: text().notNull(),
  trackingNumber: text("tracking_number"),
});

export const pushes = store.table(
  "pushes",
  {
    repository: text().notNull(),
    ref: text().notNull(),
    commit: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.repository, table.ref, table.commit] })],
);

export const issues = store.table(
  "issues",
  {
    repository: text().notNull(),
    number: integer().notNull(),
    title: text().notNull(),
    state: text().notNull(),
    updatedAt: timestamp("updated_at", { withTimezone: true, mode: "string" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.repository, table.number] })],
);

export const messages = store.table("messages", {
  id: text().primaryKey(),
  type: text().notNull(),
  receivedAt: timestamp("received_at", { withTimezone: true })
    .notNull()
    .default(sql`now()`),
});

export const mails = store.table("mails", {
  messageId: text("message_id").primaryKey(),
  recipient: text().notNull(),
  sentAt: timestamp("sent_at", { withTimezone: true })
    .notNull()
    .default(sql`now()`),
});
