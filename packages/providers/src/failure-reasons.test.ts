import type { Delivery, Refusal, SignatureFailure, Verification, Verifier } from "@millrace/core";
import { describe, expect, test } from "vitest";
import { defineProvider, gitlab, meta, StaleTimestamp, type VerifyFunction } from "./index.ts";
import { EVERY_SOURCE, TOKEN_SOURCES, type SourceCase } from "./testing/every-source.ts";
import { deliveryOf, NOW_MS, signedDelivery, verifyNow } from "./testing/sign-delivery.ts";

const READ_MS = 30_000;
const IS_SIGNATURE = /sig(?!.*timestamp)|hmac|-token$|^authorization$/;

const CASES: readonly (readonly [string, SourceCase])[] = Object.entries({
  ...EVERY_SOURCE,
  ...Object.fromEntries(Object.entries(TOKEN_SOURCES).map(([name, source]) => [name, { source }])),
  "gitlab with a token": { source: gitlab({ auth: "token" }) },
});

const failureOf = (verification: Verification | Refusal | undefined) =>
  verification?.ok === false ? verification.failure : undefined;

/** The failure of a delivery, which its head shows too, but for the secret and a time in a body. */
function failure(verifier: Verifier, delivery: Delivery): SignatureFailure | undefined {
  const found = failureOf(verifyNow(verifier, delivery));
  const early = failureOf(verifier.precheck?.(delivery, READ_MS));
  if (early !== undefined) expect(early).toEqual(found);
  return found;
}

describe.each(CASES)("%s", (_title, { source, toleranceMs }) => {
  const { provider } = source;
  const secret = provider.generateSecret();
  const verifier = provider.createVerifier([secret]);
  const good = signedDelivery(source, { secret });
  const names = Object.keys(good.headers).filter((name) => IS_SIGNATURE.test(name));
  const withSignature = (value?: string): Delivery => ({
    ...good,
    headers: { ...good.headers, ...Object.fromEntries(names.map((name) => [name, value])) },
  });

  test("says why a signature is refused, and nothing of one that is not", () => {
    expect(names.length).toBeGreaterThan(0);
    expect(verifyNow(verifier, good)).not.toHaveProperty("failure");
    expect(failure(verifier, withSignature())).toEqual({ reason: "header_missing" });
    const other = provider.createVerifier([provider.generateSecret()]);
    expect(failure(other, good)).toEqual({ reason: "no_secret_matches" });
    // Any text can be a token.
    const reason = provider.authenticatedOnly === true ? "no_secret_matches" : "malformed";
    expect(failure(verifier, withSignature("?"))).toEqual({ reason });
  });

  test("says by how many seconds a time is off, where one is signed", () => {
    const farMs = (toleranceMs ?? 0) + READ_MS + 5_000;
    const at = (receivedAtMs: number) => failure(verifier, { ...good, receivedAtMs });
    const off = (reason: "too_old" | "too_new") =>
      toleranceMs === undefined ? undefined : { reason, seconds: farMs / 1_000 };
    expect(at(NOW_MS + farMs)).toEqual(off("too_old"));
    expect(at(NOW_MS - farMs)).toEqual(off("too_new"));
  });
});

test.each<[string, VerifyFunction, SignatureFailure | undefined]>([
  ["returns false", () => false, { reason: "no_secret_matches" }],
  ["throws an SDK's error", () => fail(new Error("no match")), { reason: "no_secret_matches" }],
  ["throws StaleTimestamp", () => fail(new StaleTimestamp()), { reason: "too_old" }],
  [
    "says how old the time is",
    () => fail(new StaleTimestamp(400)),
    { reason: "too_old", seconds: 400 },
  ],
  [
    "says how far ahead the time is",
    () => fail(new StaleTimestamp(-400)),
    { reason: "too_new", seconds: 400 },
  ],
  ["has a bug", () => fail(new TypeError("x is not a function")), undefined],
])("a function that %s", async (_title, verify, expected) => {
  const later: VerifyFunction = async (...given) => {
    await Promise.resolve();
    return verify(...given);
  };
  for (const check of [verify, later]) {
    const { provider } = defineProvider({ name: "acme", verify: check, id: "json:id" })();
    const verified = await provider.createVerifier(["a-secret"]).verify(deliveryOf({}, "{}"));
    expect(failureOf(verified)).toEqual(expected);
  }
});

function fail(error: Error): never {
  throw error;
}

test("a question with another verify token matches no secret", () => {
  const { provider } = meta();
  const asked = { ...deliveryOf({}, ""), method: "GET", url: "/?hub.verify_token=another" };
  const verifier = provider.createVerifier([`the token:${"x".repeat(16)}`]);
  expect(failureOf(verifyNow(verifier, asked))).toEqual({ reason: "no_secret_matches" });
});
