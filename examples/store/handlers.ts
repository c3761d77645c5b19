import { eq, lte, sql } from "drizzle-orm";
import { on, PermanentError } from "millrace";
import { carriers, issues, messages, payments, pushes, shipments, users } from "./schema.ts";

// Every handler runs in a transaction of its own, `tx`. What it writes is there exactly when the
// event is `completed`: if it throws, nothing is. Events may come in any order.

/** The body that Hook Mesh posts. */
interface HookMesh<Payload> {
  event_id: string;
  event_type: string;
  payload: Payload;
}

export default [
  on<HookMesh<{ user_id: string; email: string; name: string }>>(
    "hookmesh",
    "user.created",
    async (event, { tx }) => {
      const { user_id: id, email, name } = event.payload.payload;
      await tx.insert(users).values({ id, email, name }).onConflictDoNothing();
    },
  ),

  on<HookMesh<{ user_id: string; tier: string }>>(
    "hookmesh",
    "subscription.created",
    async (event, { tx }) => {
      const { user_id: id, tier } = event.payload.payload;
      const updated = await tx
        .update(users)
        .set({ subscriptionTier: tier, subscriptionStatus: "active" })
        .where(eq(users.id, id))
        .returning({ id: users.id });
      // The user's own event has not come yet. A plain error is tried again, a little later.
      if (updated.length === 0) throw new Error(`Cannot subscribe user "${id}": not created yet`);
    },
  ),

  on<HookMesh<{ payment_id: string; user_id: string; amount: number }>>(
    "hookmesh",
    "payment.succeeded",
    async (event, { tx }) => {
      const { payment_id: id, user_id: userId, amount } = event.payload.payload;
      await tx
        .insert(payments)
        .values({ id, userId, amount, status: "completed" })
        .onConflictDoNothing();
    },
  ),

  on<HookMesh<{ order_id: string; carrier: string; tracking_number?: string }>>(
    "hookmesh",
    "order.shipped",
    async (event, { tx }) => {
      const { order_id: orderId, carrier, tracking_number: trackingNumber } = event.payload.payload;
      const [known] = await tx.select().from(carriers).where(eq(carriers.name, carrier));
      // No retry helps until someone adds the carrier: fail at once, and wait for that.
      if (known === undefined) throw new PermanentError(`Unknown carrier "${carrier}"`);
      await tx.insert(shipments).values({ orderId, carrier, trackingNumber }).onConflictDoNothing();
    },
  ),

  on<HookMesh<{ name: string }>>("hookmesh", "carrier.added", async (event, { tx }) => {
    await tx.insert(carriers).values({ name: event.payload.payload.name }).onConflictDoNothing();
  }),

  on<{ data: { object: { id: string; customer: string | null; amount_received: number } } }>(
    "stripe",
    "payment_intent.succeeded",
    async (event, { tx }) => {
      const { id, customer: userId, amount_received: amount } = event.payload.data.object;
      await tx
        .insert(payments)
        .values({ id, userId, amount, status: "completed" })
        .onConflictDoNothing();
    },
  ),

  on<{ data: { object: { payment_intent: string; customer: string | null; amount: number } } }>(
    "stripe",
    "charge.refunded",
    async (event, { tx }) => {
      const { payment_intent: id, customer: userId, amount } = event.payload.data.object;
      // Before the payment or after it: the row ends the same.
      await tx
        .insert(payments)
        .values({ id, userId, amount, status: "refunded" })
        .onConflictDoUpdate({ target: payments.id, set: { status: "refunded" } });
    },
  ),

  on<{ ref: string; after: string; repository: { full_name: string } }>(
    "github",
    "push",
    async (event, { tx }) => {
      const { ref, after: commit, repository } = event.payload;
      await tx
        .insert(pushes)
        .values({ repository: repository.full_name, ref, commit })
        .onConflictDoNothing();
    },
  ),

  on<{
    issue: { number: number; title: string; state: string; updated_at: string };
    repository: { full_name: string };
  }>("github", "issues", async (event, { tx }) => {
    const { issue, repository } = event.payload;
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
