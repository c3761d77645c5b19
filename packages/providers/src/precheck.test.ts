import { statusOf, type Delivery } from "@millrace/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gitlab, meta, stripe } from "./index.ts";
import { EVERY_SOURCE } from "./testing/every-source.ts";
import { deliveryOf, NOW_MS, signedDelivery, verifyNow } from "./testing/sign-delivery.ts";

const IS_SIGNATURE = /sig(?!.*timestamp)|hmac|gitlab-token/;
const READ_MS = 30_000;
const TOLERANCE_MS = 300_000;

/** The forms of a header: as it was sent, changed, twice, or not at all. */
const CHANGES: readonly ((value: string, other: string, at: number) => string | undefined)[] = [
  () => undefined,
  () => "",
  (_value, other) => other,
  (value, other) => `${value}, ${other}`,
  (value, other) => `${other}, ${value}`,
  (value) => value.toUpperCase(),
  (value) => ` ${value} `,
  (value, _other, at) => value.slice(0, at % (value.length + 1)),
  (value, _other, at) => value.slice(0, at % value.length) + "x" + value.slice(at % value.length),
];

const cases = Object.entries({
  ...EVERY_SOURCE,
  "gitlab with a token": { source: gitlab({ auth: "token" }) },
});

describe.each(cases)("%s", (title, { source: { provider } }) => {
  const [old, fresh, strange] = Array.from({ length: 3 }, () => provider.generateSecret());
  const live = [old ?? "", fresh ?? ""];

  const deliveries = fc.record({
    signing: fc.constantFrom(...live, strange ?? ""),
    names: fc.array(fc.nat(), { maxLength: 2 }),
    change: fc.constantFrom(...CHANGES),
    at: fc.nat(200),
    // Around the bounds of the tolerance, and of what comes into it while a body is read.
    offsetMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: -2 * TOLERANCE_MS, max: 2 * TOLERANCE_MS }),
      fc.constantFrom(...[-1, 0, 1, -READ_MS].map((ms) => ms - TOLERANCE_MS)),
      fc.constantFrom(...[-1, 0, 1, -READ_MS].map((ms) => ms + TOLERANCE_MS)),
    ),
    waitMs: fc.oneof(fc.constantFrom(0, READ_MS), fc.integer({ min: 0, max: READ_MS })),
    isBodyChanged: fc.boolean(),
  });

  function make(drawn: typeof deliveries extends fc.Arbitrary<infer T> ? T : never): Delivery {
    const good = signedDelivery({ provider }, { secret: drawn.signing });
    const other = signedDelivery({ provider }, { secret: strange ?? "", eventId: "evt_2" });
    const headers: Record<string, string | undefined> = { ...good.headers };
    const known = Object.keys(headers);
    for (const index of drawn.names) {
      const name = known[index % known.length] ?? "";
      headers[name] = drawn.change(good.headers[name] ?? "", other.headers[name] ?? "", drawn.at);
    }
    const body = drawn.isBodyChanged ? Buffer.concat([good.body, Buffer.from(" ")]) : good.body;
    return { ...good, headers, body, receivedAtMs: NOW_MS + drawn.offsetMs };
  }

  test("the check of a head refuses nothing that is verified, then or when its body has come", () => {
    const verifier = provider.createVerifier(live, { toleranceMs: TOLERANCE_MS });
    fc.assert(
      fc.property(deliveries, (drawn) => {
        const { body, ...head } = make(drawn);
        const receivedAtMs = head.receivedAtMs + drawn.waitMs;
        const verified = verifyNow(verifier, { ...head, body, receivedAtMs });
        const refused = verifier.precheck?.(head, READ_MS);
        if (verified.ok) expect(refused).toBeUndefined();
        if (refused === undefined || verified.ok) return;
        expect(statusOf(refused.code)).toBe(statusOf(verified.code));
        // Without a body nobody knows whether what was signed long ago was signed at all.
        if (verified.code !== "invalid_signature") expect(refused.code).toBe(verified.code);
      }),
      { numRuns: 300 },
    );
  });

  test("a head without a signature, or with one that is none, is refused", () => {
    const verifier = provider.createVerifier(live);
    const good = signedDelivery({ provider }, { secret: live[0] ?? "" });
    expect(verifier.precheck?.(good, READ_MS)).toBeUndefined();
    const bare = verifier.precheck?.({ ...good, headers: {} }, READ_MS)?.code;
    // A new webhook of WooCommerce is announced by a POST that nobody signs.
    expect(bare).toBe(title === "woocommerce" ? undefined : "invalid_signature");
    const names = Object.keys(good.headers).filter((name) => IS_SIGNATURE.test(name));
    expect(names.length).toBeGreaterThan(0);
    for (const header of names) {
      const headers = { ...good.headers, [header]: "?" };
      expect([header, verifier.precheck?.({ ...good, headers }, READ_MS)?.code]).toEqual([
        header,
        "invalid_signature",
      ]);
    }
  });
});

test("a time in a head that is out of tolerance is refused, but for what comes into it in time", () => {
  const secret = stripe().provider.generateSecret();
  const good = signedDelivery(stripe(), { secret });
  const verifier = stripe().provider.createVerifier([secret]);
  const at = (offsetMs: number) =>
    verifier.precheck?.({ ...good, receivedAtMs: NOW_MS + offsetMs }, READ_MS)?.code;
  expect(at(TOLERANCE_MS)).toBeUndefined();
  expect(at(TOLERANCE_MS + 1)).toBe("invalid_timestamp");
  expect(at(-TOLERANCE_MS - READ_MS)).toBeUndefined();
  expect(at(-TOLERANCE_MS - READ_MS - 1)).toBe("invalid_timestamp");
});

test("Meta's question by GET, which nobody signs, is not held against a signature", () => {
  const verifier = meta().provider.createVerifier([`the token:${"x".repeat(16)}`]);
  const { body: _, ...head } = { ...deliveryOf({}, ""), method: "GET" };
  expect(verifier.precheck?.(head, READ_MS)).toBeUndefined();
  expect(verifier.precheck?.({ ...head, method: "POST" }, READ_MS)?.code).toBe("invalid_signature");
});
