import { createHmac, randomUUID } from "node:crypto";

export const EVENT_TYPE = "bench.event";
export const EVENT = { type: EVENT_TYPE, data: { text: "x".repeat(1_330), amount: 1 } };
export const BODY = Buffer.from(JSON.stringify(EVENT));

export function eventId(number) {
  return `msg_${randomUUID()}_${number}`;
}

export function numberOf(id) {
  return Number(id.slice(id.lastIndexOf("_") + 1));
}

export function signingKey(secret) {
  return Buffer.from(secret.slice("whsec_".length), "base64");
}

export function signature(key, { id, at, body }) {
  return createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64");
}
