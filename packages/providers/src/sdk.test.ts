import { sign as octokitSign, verify as octokitVerify } from "@octokit/webhooks-methods";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { expect, test } from "vitest";
import { github, hookMesh, standardWebhooks, stripe } from "./index.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const WHSEC = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const SECONDS = NOW_MS / 1_000;
const client = new Stripe("sk_test_unused");

test("what Stripe's SDK signs is accepted, and its SDK accepts what we sign", () => {
  const payload = '{"id":"evt_1","type":"charge.refunded"}';
  const header = client.webhooks.generateTestHeaderString({
    payload,
    secret: WHSEC,
    timestamp: SECONDS,
  });
  const signed = deliveryOf({ "Stripe-Signature": header }, payload);
  expect(verdict(stripe(), [WHSEC], signed)).toBe("ok");

  const ours = signedDelivery(stripe(), { secret: WHSEC, nowMs: NOW_MS });
  const text = Buffer.from(ours.body).toString();
  expect(
    client.webhooks.constructEvent(
      text,
      ours.headers["stripe-signature"] ?? "",
      WHSEC,
      300,
      undefined,
      NOW_MS,
    ).id,
  ).toBe("evt_1");
});

test("a notification of Stripe's is one for its SDK, which fetches the object that it names", () => {
  const type = "v1.customer.updated";
  const ours = signedDelivery(stripe(), { secret: WHSEC, nowMs: NOW_MS, eventId: "evt_2", type });
  const notification = client.parseEventNotification(
    Buffer.from(ours.body).toString(),
    ours.headers["stripe-signature"] ?? "",
    WHSEC,
    ...[300, undefined, NOW_MS],
  );
  if (notification.type !== type) throw new Error(notification.type);
  const { id, related_object: related, fetchRelatedObject } = notification;
  expect([id, related.url, typeof fetchRelatedObject]).toEqual([
    ...["evt_2", `/v1/customers/${related.id}`, "function"],
  ]);
  expect(stripe().provider.identify(ours)).toMatchObject({ events: [{ eventId: "evt_2", type }] });
});

test("GitHub's SDK and ours accept each other's signatures", async () => {
  const secret = "a secret of some length";
  const signature = await octokitSign(secret, "{}");
  expect(verdict(github(), [secret], deliveryOf({ "X-Hub-Signature-256": signature }, "{}"))).toBe(
    "ok",
  );
  const ours = signedDelivery(github(), { secret });
  expect(
    await octokitVerify(
      secret,
      Buffer.from(ours.body).toString(),
      ours.headers["x-hub-signature-256"] ?? "",
    ),
  ).toBe(true);
});

test("the vector that GitHub publishes is accepted", () => {
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const delivery = deliveryOf({ "x-hub-signature-256": signature }, "Hello, World!");
  expect(verdict(github(), ["It's a Secret to Everybody"], delivery)).toBe("ok");
});

test("the vector that Svix publishes for this scheme is accepted", () => {
  const headers = {
    "webhook-id": "msg_loFOjxBNrRLzqYUf",
    "webhook-timestamp": "1731705121",
    "webhook-signature": "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
  };
  const body = '{"event_type":"ping","data":{"success":true}}';
  const delivery = deliveryOf(headers, body, 1_731_705_121_000);
  expect(verdict(standardWebhooks(), ["whsec_plJ3nmyCDGBKInavdOK15jsl"], delivery)).toBe("ok");
});

test.each([
  ["Standard Webhooks", standardWebhooks()],
  ["Hook Mesh", hookMesh()],
])("%s: the standardwebhooks library signs what is accepted", (_name, source) => {
  const body = '{"event_id":"e1","event_type":"t","type":"t"}';
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(SECONDS),
    "webhook-signature": new Webhook(WHSEC).sign("msg_1", new Date(NOW_MS), body),
  };
  expect(verdict(source, [WHSEC], deliveryOf(headers, body))).toBe("ok");
  // Boundaries: another id or another time is another message.
  expect(verdict(source, [WHSEC], deliveryOf({ ...headers, "webhook-id": "msg_2" }, body))).toBe(
    "invalid_signature",
  );
});

test("an id beyond ASCII is signed in the bytes that the header carries", () => {
  const headers = {
    "webhook-id": Buffer.from("ünï").toString("latin1"),
    "webhook-timestamp": String(SECONDS),
    "webhook-signature": new Webhook(WHSEC).sign("ünï", new Date(NOW_MS), "{}"),
  };
  const delivery = deliveryOf(headers, "{}");
  expect(verdict(standardWebhooks(), [WHSEC], delivery)).toBe("ok");
  expect(standardWebhooks().provider.identify(delivery)).toMatchObject({
    events: [{ eventId: "ünï", type: "unknown" }],
  });
});

test("the standardwebhooks library accepts what we sign", () => {
  const nowMs = Date.now();
  const delivery = signedDelivery(standardWebhooks(), { secret: WHSEC, nowMs });
  const headers = delivery.headers as Record<string, string>;
  expect(() => new Webhook(WHSEC).verify(Buffer.from(delivery.body), headers)).not.toThrow();
});

test("Hook Mesh's other form, an HMAC of the body in hexadecimal, is accepted", () => {
  const secret = "0123456789abcdef".repeat(4);
  const body = '{"event_id":"e1","event_type":"user.created","payload":{"amount":1.0}}';
  for (const key of [Buffer.from(secret), Buffer.from(secret, "hex")]) {
    const signature = createHmac("sha256", key).update(body).digest("hex");
    const delivery = deliveryOf({ "X-HookMesh-Signature": signature }, body);
    expect(verdict(hookMesh(), [secret], delivery)).toBe("ok");
  }
  expect(
    verdict(
      hookMesh({ key: "hex" }),
      [secret],
      deliveryOf(
        { "X-HookMesh-Signature": createHmac("sha256", secret).update(body).digest("hex") },
        body,
      ),
    ),
  ).toBe("invalid_signature");
});

test("an id in a header that Hook Mesh did not sign is not taken", () => {
  const delivery = deliveryOf(
    { "x-hookmesh-signature": "0".repeat(64), "webhook-id": "forged" },
    '{"event_type":"t"}',
  );
  expect(hookMesh().provider.identify(delivery)).toMatchObject({ code: "invalid_event_id" });
});
