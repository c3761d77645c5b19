import { createHmac, timingSafeEqual } from "node:crypto";
import { hookMesh } from "millrace";
import { expect, test } from "vitest";

test("an HMAC over JSON.stringify refuses genuine bodies, and a signature of another length is an exception", () => {
  const secret = "a".repeat(64);
  const body = '{ "event_id": "evt_1", "event_type": "payment.succeeded", "amount": 1.0 }';
  const sign = (text: string) => createHmac("sha256", secret).update(text).digest("hex");
  const isGenuine = (parsed: unknown, signature: string) =>
    timingSafeEqual(Buffer.from(signature), Buffer.from(sign(JSON.stringify(parsed))));
  expect(isGenuine(JSON.parse(body), sign(body))).toBe(false);
  expect(() => isGenuine(JSON.parse(body), "short")).toThrow(RangeError);

  const verifier = hookMesh().provider.createVerifier([secret]);
  const verify = (signature: string) =>
    verifier.verify({
      method: "POST",
      url: "/webhooks/shop",
      headers: { "x-hookmesh-signature": signature },
      body: Buffer.from(body),
      receivedAtMs: Date.now(),
    });
  expect(verify(sign(body))).toMatchObject({ ok: true });
  expect(verify("short")).toMatchObject({ ok: false });
});
