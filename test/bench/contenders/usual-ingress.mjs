// The ingress that people write by hand: Express, a raw body, one queue.add a request.
import { createHmac, timingSafeEqual } from "node:crypto";
import { Queue } from "bullmq";
import express from "express";
import { usualBackend } from "./usual-queue.mjs";

const key = Buffer.from(process.env.BENCH_WEBHOOK_SECRET.slice("whsec_".length), "base64");
const { connection, factory } = usualBackend();
const queue = new Queue("usual", { connection }, factory);

const app = express();
app.post("/webhooks/bench", express.raw({ type: () => true }), async (request, response) => {
  const signed = `${request.get("webhook-id")}.${request.get("webhook-timestamp")}.`;
  const digest = createHmac("sha256", key).update(signed).update(request.body).digest();
  const given = Buffer.from(request.get("webhook-signature").slice("v1,".length), "base64");
  if (!timingSafeEqual(digest, given)) return response.status(401).end();
  const event = JSON.parse(request.body);
  await queue.add(event.type, event, {
    jobId: request.get("webhook-id"),
    attempts: 12,
    removeOnComplete: { count: 10_000 },
  });
  return response.status(202).json({ status: "accepted" });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.send({ kind: "listening", port: server.address().port });
});
