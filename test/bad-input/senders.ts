import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import type { WireRequest } from "./wire.ts";

export const SECRET_CANARY = "Canary5ecret";
export const BODY_CANARY = "CanaryB0dy";

const whsec = () => `whsec_${SECRET_CANARY}${randomBytes(24).toString("base64")}`;

export const SECRETS = {
  github: `${SECRET_CANARY}-github`,
  stripe: whsec(),
  standard: whsec(),
  hookmesh: whsec(),
  a: `${SECRET_CANARY}-of-a`,
  "a-b": `${SECRET_CANARY}-of-a-b`,
} as const;

export const OLD_GITHUB_SECRET = `${SECRET_CANARY}-github-old`;

const hex = (secret: string, body: Uint8Array) =>
  createHmac("sha256", secret).update(body).digest("hex");
const bytesOf = (body: string | Uint8Array) =>
  typeof body === "string" ? Buffer.from(body) : body;

export function github(
  id: string,
  body: string | Uint8Array,
  options: { secret?: string; type?: string } = {},
): WireRequest {
  const bytes = bytesOf(body);
  return {
    source: "github",
    body: bytes,
    headers: [
      ["x-github-delivery", id],
      ["x-github-event", options.type ?? "test.effect"],
      ["x-hub-signature-256", `sha256=${hex(options.secret ?? SECRETS.github, bytes)}`],
    ],
  };
}

export function stripe(body: string, options: { atMs?: number } = {}): WireRequest {
  const timestamp = Math.floor((options.atMs ?? Date.now()) / 1_000);
  const header = new Stripe("sk_test_unused").webhooks.generateTestHeaderString({
    payload: body,
    secret: SECRETS.stripe,
    timestamp,
  });
  return { source: "stripe", body: Buffer.from(body), headers: [["stripe-signature", header]] };
}

export function stripeBody(id: unknown, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ id, type: "test.effect", ...more });
}

export function standard(
  id: string,
  body: string,
  options: { atMs?: number; source?: "standard" | "hookmesh" } = {},
): WireRequest {
  const { atMs = Date.now(), source = "standard" } = options;
  const signature = new Webhook(SECRETS[source]).sign(id, new Date(atMs), body);
  return {
    source,
    body: Buffer.from(body),
    headers: [
      ["webhook-id", id],
      ["webhook-timestamp", String(Math.floor(atMs / 1_000))],
      ["webhook-signature", signature],
    ],
  };
}

export function standardAt(id: string, timestamp: string, body: string): WireRequest {
  const key = Buffer.from(SECRETS.standard.slice("whsec_".length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    source: "standard",
    body: Buffer.from(body),
    headers: [
      ["webhook-id", id],
      ["webhook-timestamp", timestamp],
      ["webhook-signature", `v1,${signature}`],
    ],
  };
}

export function plain(source: "a" | "a-b", body: string | Uint8Array): WireRequest {
  const bytes = bytesOf(body);
  return { source, body: bytes, headers: [["x-signature", hex(SECRETS[source], bytes)]] };
}
