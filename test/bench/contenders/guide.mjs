import { handle } from "../loads.mjs";
import { inTransaction } from "./in-transaction.mjs";

/**
 * An event as guides to idempotent webhooks print it: look for the event's id with FOR UPDATE, do the work,
 * insert the id and the payload, all in one transaction.
 */
export async function processOnce(pool, { eventId, type, payload }) {
  return await inTransaction(pool, async (client) => {
    const existing = await client.query(
      "SELECT id FROM processed_webhooks WHERE event_id = $1 FOR UPDATE",
      [eventId],
    );
    if (existing.rows.length > 0) return "already_processed";
    await handle(eventId, (text, values) => client.query(text, values));
    await client.query(
      `INSERT INTO processed_webhooks (event_id, event_type, processed_at, payload)
       VALUES ($1, $2, NOW(), $3)`,
      [eventId, type, JSON.stringify(payload)],
    );
    return "processed";
  });
}
