import { eq, lte, sql } from "drizzle-orm";
import { defineHandlers, PermanentError, type WebhookEvent } from "millrace";
import { sendMail, type Mail } from "./mailer.ts";
import type config from "./millrace.config.ts";
import { carriers, issues, mails, messages, payments, pushes, shipments, users } from "./schema.ts";

// Every handler runs in a transaction of its own, `tx`. What it writes is there exactly when the
// event is `completed`: if it throws, nothing is. Events may come in any order.

// It knows the config: a source or a table that is misspelled does not compile.
const on = defineHandlers<typeof config>();

// `event.data` is what a sender has inside its envelope: `payload` of Hook Mesh, `data` of Stripe.

interface User {
  user_id: string;
  email: string;
  name: string;
}
interface Subscription {
  user_id: string;
  tier: string;
}
interface Payment {
  payment_id: string;
  user_id: string;
  amount: number;
}
interface Shipment {
  order_id: string;
  carrier: string;
  tracking_number?: string;
  /** Where the customer wants to hear of it. */
  email?: string;
}
interface PaymentIntent {
  id: string;
  customer: string | null;
  amount_received: number;
}
interface Charge {
  payment_intent: string;
  customer: string | null;
  amount: number;
}
interface Push {
  ref: string;
  after: string;
  repository: { full_name: string };
}
interface Issues {
  issue: { number: number; title: string; state: string; updated_at: string };
  repository: { full_name: string };
}

export default [
  on("hookmesh", "user.created", async (event, { tx }) => {
    const { user_id: id, email, name }: User = event.data;
    await tx.insert(users).values({ id, email, name }).onConflictDoNothing();
  }),

  on("hookmesh", "subscription.created", async (event, { tx }) => {
    const { user_id: id, tier }: Subscription = event.data;
    const updated = await tx
      .update(users)
      .set({ subscriptionTier: tier, subscriptionStatus: "active" })
      .where(eq(users.id, id))
      .returning({ id: users.id });
    // The user's own event has not come yet. A plain error is tried again, a little later.
    if (updated.length === 0) throw new Error(`Cannot subscribe user "${id}": not created yet`);
  }),

  on("hookmesh", "payment.succeeded", async (event, { tx }) => {
    const { payment_id: id, user_id: userId, amount }: Payment = event.data;
    await tx
      .insert(payments)
      .values({ id, userId, amount, status: "completed" })
      .onConflictDoNothing();
  }),

  on("hookmesh", "order.shipped", async (event, { tx, emit }) => {
    const shipment: Shipment = event.data;
    const { order_id: orderId, carrier, tracking_number: trackingNumber, email } = shipment;
    const known = await tx.query.carriers.findFirst({
      where: eq(carriers.name, carrier),
    });
    // No retry helps until someone adds the carrier: fail at once, and wait for that.
    if (known === undefined) throw new PermanentError(`Unknown carrier "${carrier}"`);
    const shipped = await tx
      .insert(shipments)
      .values({ orderId, carrier, trackingNumber })
      .onConflictDoNothing()
      .returning();
    // A second event about the same order sends no second mail.
    if (shipped.length === 0 || email === undefined) return;
    const subject = `Order ${orderId} is on its way`;
    await emit("mail", "order.shipped", { to: email, subject, text: `It comes by ${carrier}.` });
  }),

  // What was emitted runs after the shipment is committed, with retries of its own.
  on("mail", "*", {
    call: ({ payload }: WebhookEvent<Mail>, { once, log }) =>
      once("send", (key) => sendMail(payload, key, log)),
    write: async ({ payload }, { tx }, messageId) => {
      await tx.insert(mails).values({ messageId, recipient: payload.to }).onConflictDoNothing();
    },
  }),

  on("hookmesh", "carrier.added", async (event, { tx }) => {
    const { name }: { name: string } = event.data;
    await tx.insert(carriers).values({ name }).onConflictDoNothing();
  }),

  on("stripe", "payment_intent.succeeded", async (event, { tx }) => {
    const { id, customer: userId, amount_received: amount }: PaymentIntent = event.data.object;
    await tx
      .insert(payments)
      .values({ id, userId, amount, status: "completed" })
      .onConflictDoNothing();
  }),

  on("stripe", "charge.refunded", async (event, { tx }) => {
    const { payment_intent: id, customer: userId, amount }: Charge = event.data.object;
    // Before the payment or after it: the row ends the same.
    await tx
      .insert(payments)
      .values({ id, userId, amount, status: "refunded" })
      .onConflictDoUpdate({ target: payments.id, set: { status: "refunded" } });
  }),

  on("github", "push", async (event, { tx }) => {
    const { ref, after: commit, repository }: Push = event.payload;
    await tx
      .insert(pushes)
      .values({ repository: repository.full_name, ref, commit })
      .onConflictDoNothing();
  }),

  on("github", "issues", async (event, { tx }) => {
    const { issue, repository }: Issues = event.payload;
    const { number, title, state, updated_at: updatedAt } = issue;
    await tx
      .insert(issues)
      .values({ repository: repository.full_name, number, title, state, updatedAt })
      // An older state that comes late must not undo a newer one.
      .onConflictDoUpdate({
        target: [issues.repository, issues.number],
        set: { title, state, updatedAt },
        setWhere: lte(issues.updatedAt, sql`excluded.updated_at`),
      });
  }),

  on("standard", "*", async (event, { tx }) => {
    await tx.insert(messages).values({ id: event.id, type: event.type }).onConflictDoNothing();
  }),
];
