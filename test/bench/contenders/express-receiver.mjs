import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";

const key = Buffer.from(process.env.BENCH_WEBHOOK_SECRET.slice("whsec_".length), "base64");

export function isSigned(request, body) {
  const signed = `${request.get("webhook-id")}.${request.get("webhook-timestamp")}.`;
  const digest = createHmac("sha256", key).update(signed).update(body).digest();
  const given = Buffer.from(request.get("webhook-signature").slice("v1,".length), "base64");
  return timingSafeEqual(digest, given);
}

export function listen(app) {
  const server = app.listen(0, "127.0.0.1", () => {
    process.send({ kind: "listening", port: server.address().port });
  });
}

export function serve(store) {
  const app = express();
  app.post("/webhooks/bench", express.raw({ type: () => true }), async (request, response) => {
    if (!isSigned(request, request.body)) return response.status(401).end();
    await store(request.get("webhook-id"), JSON.parse(request.body));
    return response.status(202).json({ status: "accepted" });
  });
  listen(app);
}
