// The receiver of the guides: all of it happens in the request, and the answer comes after the commit.
import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";
import pg from "pg";
import { processOnce } from "./guide.mjs";

const key = Buffer.from(process.env.BENCH_WEBHOOK_SECRET.slice("whsec_".length), "base64");
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });

const app = express();
app.use(express.json());
app.post("/webhooks/bench", async (request, response) => {
  const eventId = request.get("webhook-id");
  // As printed: the parsed body is serialized again, which works as long as that gives the same bytes.
  const signed = `${eventId}.${request.get("webhook-timestamp")}.${JSON.stringify(request.body)}`;
  const digest = createHmac("sha256", key).update(signed).digest();
  const given = Buffer.from(request.get("webhook-signature").slice("v1,".length), "base64");
  if (!timingSafeEqual(digest, given)) return response.status(401).end();
  const { type } = request.body;
  const status = await processOnce(pool, { eventId, type, payload: request.body });
  return response.status(200).json({ status, event_id: eventId });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.send({ kind: "listening", port: server.address().port });
});
