// The receiver of the guides: all of it happens in the request, and the answer comes after the commit.
import express from "express";
import pg from "pg";
import { isSigned, listen } from "./express-receiver.mjs";
import { processOnce } from "./guide.mjs";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });

const app = express();
app.use(express.json());
app.post("/webhooks/bench", async (request, response) => {
  // As printed: the parsed body is serialized again, which works as long as that gives the same bytes.
  if (!isSigned(request, JSON.stringify(request.body))) return response.status(401).end();
  const eventId = request.get("webhook-id");
  const { type } = request.body;
  const status = await processOnce(pool, { eventId, type, payload: request.body });
  return response.status(200).json({ status, event_id: eventId });
});
listen(app);
