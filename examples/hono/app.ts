import { Hono } from "hono";
import type { Receiver } from "millrace";

/** An app with routes of its own, and `/webhooks/<source>`. */
export function createApp(receiver: Receiver): Hono {
  const app = new Hono();
  // The raw request: no middleware may have read its body.
  app.all("/webhooks/:source", (c) => receiver.fetch(c.req.raw, c.req.param("source")));

  app.post("/echo", async (c) => c.json(await c.req.json()));
  return app;
}
