import { createHmac, randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import type { PlannedEvent } from "./plan.ts";

export interface Posted {
  readonly answer: number | string;
  readonly retryAfter: string | undefined;
  readonly tookMs: number;
}

const GIVE_UP_MS = 10_000;

export function createPoster() {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });

  function post(url: string, { headers, body }: SignedDelivery): Promise<Posted> {
    const startedMs = performance.now();
    return new Promise((resolve) => {
      const finish = (answer: number | string, retryAfter?: string) =>
        resolve({ answer, retryAfter, tookMs: performance.now() - startedMs });
      const sent = request(url, { method: "POST", agent, headers }, (response) => {
        response.resume();
        response.on("end", () => finish(response.statusCode ?? 0, response.headers["retry-after"]));
        response.on("error", (error) => finish(codeOf(error)));
      });
      sent.setTimeout(GIVE_UP_MS, () => sent.destroy(new Error("no answer")));
      sent.on("error", (error) => finish(codeOf(error)));
      sent.end(body);
    });
  }

  return { post, close: () => agent.destroy() };
}

function codeOf(error: Error & { code?: string }): string {
  return error.code ?? error.message;
}

interface SignedDelivery {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Buffer;
}

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

export const CANARIES = {
  key: randomBytes(32).toString("base64"),
  hub: `hub-canary-${randomBytes(12).toString("hex")}`,
  authorization: `Bearer authorization-canary-${randomBytes(12).toString("hex")}`,
  queueKey: randomBytes(32).toString("hex"),
  body: `body-canary-${randomBytes(12).toString("hex")}`,
} as const;

export const QUEUE_KEY = CANARIES.queueKey;

export const SECRET_VARIABLES = {
  STEADY_WEBHOOK_SECRET: `whsec_${CANARIES.key}`,
  FRAIL_WEBHOOK_SECRET: `whsec_${CANARIES.key}`,
  HUB_WEBHOOK_SECRET: CANARIES.hub,
} as const;
