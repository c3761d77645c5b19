import { createHash } from "node:crypto";
import type { SourceDefinition } from "@millrace/core";
import { expect } from "vitest";
import * as senders from "../senders.ts";

/** A source that every provider's tests loop over, and what is its own about it. */
export interface SourceCase {
  readonly source: SourceDefinition;
  /** The identity of a sample, where it is not the event id that was asked for. */
  readonly identity?: (eventId: string, type: string, body: Uint8Array) => string;
  /** Headers except the content type that no signature covers. */
  readonly loose?: RegExp;
  /** Milliseconds that a signed time may be off; undefined where no time is signed. */
  readonly toleranceMs?: number;
  /** Any bytes in a body of the sender's form; as they are, where any body can be signed. */
  readonly bodyOf?: (bytes: Uint8Array, nowMs: number) => Uint8Array;
  /** True when two bodies have one signature, where the sender signs no bytes. */
  readonly signsTheSame?: (one: Uint8Array, other: Uint8Array) => boolean;
  /** The code for a signed body that does not have the sender's form. */
  readonly oddBodies?: string;
}

const FIVE_MINUTES_MS = 300_000;
const DAY_MS = 86_400_000;
const url = "https://hooks.example.com/webhooks/a";

/** For an id whose parts a plain sample has not. */
const ANY_DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown as string;

/** The senders whose deliveries carry a token, which covers nothing of them. */
export const TOKEN_SOURCES: Readonly<Record<string, SourceDefinition>> = {
  okta: senders.okta(),
  telegram: senders.telegram(),
};

/** Senders of which nothing here can sign a delivery: they have vectors. */
export const VECTOR_SOURCES: Readonly<Record<string, SourceDefinition>> = {
  adyen: senders.adyen(),
  googlePubsub: senders.googlePubsub({ audience: url, serviceAccount: "push@example.com" }),
};

/** Of those that stand here, what differs from a plain HMAC over the body. */
const CASES: Readonly<Record<string, SourceCase>> = {
  stripe: { source: senders.stripe(), toleranceMs: FIVE_MINUTES_MS },
  github: { source: senders.github(), loose: /^x-github-/ },
  hookMesh: { source: senders.hookMesh(), toleranceMs: FIVE_MINUTES_MS },
  "hookMesh with a hexadecimal key": {
    source: senders.hookMesh({ key: "hex" }),
    toleranceMs: FIVE_MINUTES_MS,
  },
  standardWebhooks: { source: senders.standardWebhooks(), toleranceMs: FIVE_MINUTES_MS },
  "hmac over the body": {
    source: senders.hmac({ header: "x-sig", id: "json:data.id", type: "json:data.type" }),
  },
  "hmac over a template": {
    source: senders.hmac({
      header: "X-Sig",
      algorithm: "sha512",
      encoding: "base64url",
      prefix: "v1=",
      key: "base64",
      message: "v1:{id}:{ts}:{body}",
      timestamp: { header: "x-time", unit: "ms" },
      id: "header:x-id",
      type: "header:x-type",
    }),
    loose: /^x-type$/,
    toleranceMs: FIVE_MINUTES_MS,
  },
  shopify: {
    source: senders.shopify(),
    identity: (eventId, type) => `millrace-dev.myshopify.com|${type}|${eventId}`,
    loose: /^x-shopify-(?!hmac)/,
  },
  slack: { source: senders.slack(), toleranceMs: FIVE_MINUTES_MS },
  svix: { source: senders.svix(), toleranceMs: FIVE_MINUTES_MS },
  square: { source: senders.square({ url: `${url}?of=square` }) },
  paddle: { source: senders.paddle(), toleranceMs: 5_000 },
  linear: {
    source: senders.linear(),
    loose: /^linear-(?!signature)/,
    toleranceMs: 60_000,
    bodyOf: (bytes, nowMs) =>
      Buffer.from(
        JSON.stringify({
          webhookTimestamp: nowMs,
          bytes: Buffer.from(bytes).toString("base64"),
        }),
      ),
    oddBodies: "invalid_timestamp",
  },
  twilio: {
    source: senders.twilio({ url }),
    loose: /^i-twilio-/,
    bodyOf: (bytes) =>
      Buffer.from(`Body=${encodeURIComponent(Buffer.from(bytes).toString("latin1"))}&To=%2B1`),
    signsTheSame: (one, other) => fieldsOf(one) === fieldsOf(other),
  },
  sendgrid: { source: senders.sendgrid(), toleranceMs: DAY_MS },
  discord: {
    source: senders.discord(),
    identity: (eventId, _type, body) => {
      const { event, application_id: application } = JSON.parse(Buffer.from(body).toString());
      return event === undefined
        ? eventId
        : digestOf(JSON.stringify(event), JSON.stringify(application));
    },
    toleranceMs: DAY_MS,
  },
  meta: {
    source: senders.meta(),
    identity: (_eventId, _type, body) => {
      const { object, entry } = JSON.parse(Buffer.from(body).toString());
      const [update] = entry[0].messaging ?? [];
      return update === undefined
        ? digestOf(Buffer.from(body).toString())
        : digestOf(JSON.stringify(update), JSON.stringify(object), JSON.stringify(entry[0].id));
    },
  },
  gitlab: {
    source: senders.gitlab(),
    loose: /^idempotency-key$/,
    toleranceMs: FIVE_MINUTES_MS,
  },
  zoom: {
    source: senders.zoom(),
    identity: (_eventId, _type, body) => {
      const { event, event_ts: at, payload } = JSON.parse(Buffer.from(body).toString());
      return digestOf(JSON.stringify(payload), JSON.stringify(event), String(at));
    },
    toleranceMs: DAY_MS,
  },
  hubspot: {
    source: senders.hubspot({ url }),
    identity: () => ANY_DIGEST,
    toleranceMs: FIVE_MINUTES_MS,
  },
  razorpay: { source: senders.razorpay(), loose: /^x-razorpay-event-id$/ },
  twitch: { source: senders.twitch(), toleranceMs: 600_000 },
  woocommerce: {
    source: senders.woocommerce(),
    identity: () => ANY_DIGEST,
    loose: /^x-wc-webhook-topic$/,
  },
  workos: { source: senders.workos(), toleranceMs: 180_000 },
  box: { source: senders.box(), toleranceMs: 600_000 },
  calcom: { source: senders.calcom(), identity: () => ANY_DIGEST },
  mandrill: {
    source: senders.mandrill({ url }),
    identity: () => ANY_DIGEST,
    bodyOf: (bytes) =>
      Buffer.from(`mandrill_events=${encodeURIComponent(Buffer.from(bytes).toString("latin1"))}`),
    signsTheSame: (one, other) => fieldsOf(one) === fieldsOf(other),
  },
  mux: { source: senders.mux(), toleranceMs: FIVE_MINUTES_MS },
  sanity: {
    source: senders.sanity(),
    loose: /^(idempotency-key|sanity-operation)$/,
    toleranceMs: DAY_MS,
  },
  sentry: { source: senders.sentry(), loose: /^(request-id|sentry-hook-resource)$/ },
  xero: { source: senders.xero(), identity: () => ANY_DIGEST },
  zendesk: {
    source: senders.zendesk(),
    loose: /^x-zendesk-webhook-invocation-id$/,
    toleranceMs: DAY_MS,
  },
};

const SIGNED_PLAINLY = ["coinbaseCommerce", "line", "mollie", "segment", "typeform"];

/** Every provider with a signature, in each form; a name begins with the provider's function. */
export const EVERY_SOURCE: Readonly<Record<string, SourceCase>> = {
  ...CASES,
  ...Object.fromEntries(
    Object.entries(senders as unknown as Record<string, () => SourceDefinition>)
      .filter(
        ([name]) =>
          !Object.hasOwn({ ...CASES, ...TOKEN_SOURCES, ...VECTOR_SOURCES, hmac: 1 }, name),
      )
      .map(([name, make]) => {
        // The others sign as Standard Webhooks has it.
        const rest = SIGNED_PLAINLY.includes(name) ? {} : { toleranceMs: FIVE_MINUTES_MS };
        return [name, { source: make(), ...rest }];
      }),
  ),
};

/** The result of `jsonDigest` for values, written the plain way. */
function digestOf(...values: readonly string[]): string {
  const text = values.map((value) => `${Buffer.byteLength(value)}\n${value}`).join("");
  return createHash("sha256").update(text).digest("hex");
}

/** Names and values as Twilio signs them, by Node's own reading of a form. */
function fieldsOf(body: Uint8Array): string {
  const fields = [...new URLSearchParams(Buffer.from(body).toString())];
  const unique = new Map(fields.map(([name, value]) => [`${name}\0${value}`, { name, value }]));
  return [...unique.values()]
    .toSorted((one, other) => compare(one.name, other.name) || compare(one.value, other.value))
    .map(({ name, value }) => name + value)
    .join("");
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
