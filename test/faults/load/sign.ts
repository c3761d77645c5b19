import { createHmac } from "node:crypto";
import type { PlannedEvent } from "./plan.ts";
import { CANARIES } from "./secrets.ts";

/** A delivery's bytes and headers, as its sender signs them now. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Buffer;
}

/** The body of an event; `variant` other than 0 is the same event with another body. */
export function bodyOf(event: PlannedEvent, variant = 0): Buffer {
  const { type, plan, id, paddingBytes } = event;
  const padding = "x".repeat(paddingBytes);
  return Buffer.from(JSON.stringify({ type, id, canary: CANARIES.body, plan, padding, variant }));
}

export function sign(event: PlannedEvent, body: Buffer): SignedDelivery {
  const headers = {
    "content-type": "application/json",
    "content-length": body.byteLength,
    authorization: CANARIES.authorization,
    ...(event.source === "hub" ? asGitHub(event, body) : asStandard(event, body)),
  };
  return { headers, body };
}

function asStandard({ id, forged }: PlannedEvent, body: Buffer): Record<string, string> {
  const at = String(Math.floor(Date.now() / 1_000));
  const key = forged === true ? "another-key" : Buffer.from(CANARIES.key, "base64");
  const signature = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": `v1,${signature}` };
}

function asGitHub({ id, type, forged }: PlannedEvent, body: Buffer): Record<string, string> {
  const key = forged === true ? "another-key" : CANARIES.hub;
  return {
    "x-github-delivery": id,
    "x-github-event": type,
    "x-hub-signature-256": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
  };
}
