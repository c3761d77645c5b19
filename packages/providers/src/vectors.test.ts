import { readdirSync, readFileSync } from "node:fs";
import type { Delivery, Identification } from "@millrace/core";
import { describe, expect, test } from "vitest";
import * as senders from "./senders.ts";
import { deliveryOf, verdict } from "./testing/sign-delivery.ts";
import {
  changedBodies,
  changedValues,
  signedHeaders,
  signsTime,
  vectorOf,
} from "./testing/vectors.ts";

// Deliveries that a sender's SDK or page made, and changed ones, which must be refused.

const folder = new URL("../../../test/vectors/", import.meta.url);
const vectors = readdirSync(folder).map((file) =>
  vectorOf(file, readFileSync(new URL(file, folder), "utf8")),
);

describe.each(vectors)("$name", ({ name, vector, source }) => {
  const { secret, receivedAtMs } = vector;
  const good = deliveryOf(vector.headers, vector.body, receivedAtMs);
  const verdictOf = async (delivery: Partial<Delivery>, live = secret) => {
    const verified = await verifierOf(live).verify({ ...good, ...delivery });
    return verified.ok ? "ok" : verified.code;
  };
  const verifierOf = (live: string) => source.provider.createVerifier([live]);
  const { authenticatedOnly = false, idIsSigned } = source.provider;

  test("what the sender signed is accepted, and its events are named", async () => {
    expect(vector.provenance.length).toBeGreaterThan(20);
    expect(await verdictOf({})).toBe("ok");
    expect(source.provider.identify(good)).toMatchObject({ events: vector.events });
  });

  test("no other byte of the body is accepted", async () => {
    const others = changedBodies(vector.body);
    const verdicts = await Promise.all(others.map((body) => verdictOf({ body })));
    const accepted = others.filter((_, n) => verdicts[n] === "ok");
    if (!authenticatedOnly) expect(accepted).toHaveLength(0);
    else if (!idIsSigned) expect(accepted).toHaveLength(others.length);
    // Where some fields are signed, whatever else is changed is the same event.
    const identified = source.provider.identify(good);
    if (idIsSigned) {
      for (const body of accepted) {
        expect(source.provider.identify({ ...good, body })).toEqual(
          withBodies(identified, expect.any(Uint8Array)),
        );
      }
    }
  });

  test("no other signature, id, or time is accepted", async () => {
    const signed = await signedHeaders(source, vector);
    // Adyen's signature stands in the body.
    expect(signed.length > 0).toBe(name !== "adyen");
    for (const header of signed) {
      for (const one of changedValues(good.headers[header] ?? "")) {
        const headersOf = { ...good.headers, [header]: one };
        expect([header, one, await verdictOf({ headers: headersOf })]).not.toEqual([
          header,
          one,
          "ok",
        ]);
      }
    }
    if (signed.length > 0) expect(await verdictOf({ headers: {} })).toBe("invalid_signature");
  });

  test("another secret is refused", async () => {
    const other = `whsec_${Buffer.from("another secret of thirty-two bytes").toString("base64")}`;
    expect(await verdictOf({}, other)).toBe("invalid_signature");
  });

  test("a stale or future time is refused, where one is signed", async () => {
    const isTimed = await signsTime({ name, source, vector });
    const code = isTimed ? "invalid_timestamp" : "ok";
    for (const offsetMs of [-86_500_000, 86_500_000]) {
      expect(await verdictOf({ receivedAtMs: receivedAtMs + offsetMs })).toBe(code);
    }
  });
});

/** The same events, whatever their bodies. */
function withBodies(found: Identification, body: unknown): unknown {
  if (!found.ok) return found;
  return { ...found, events: found.events.map((event) => ({ ...event, body })) };
}

test("a public key of Standard Webhooks verifies v1a alone", async () => {
  const { generateKeyPairSync, sign } = await import("node:crypto");
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const secret = `whpk_${raw.toString("base64")}`;
  const signed = sign(null, Buffer.from("m.1767225600.{}"), privateKey).toString("base64");
  const verdictOf = (signature: string) => {
    const headers = { "webhook-id": "m", "webhook-timestamp": "1767225600" };
    const delivery = deliveryOf({ ...headers, "webhook-signature": signature }, "{}");
    return verdict(senders.standardWebhooks(), [secret], delivery);
  };
  expect(verdictOf(`v1,AAAA v1a,${signed}`)).toBe("ok");
  expect(verdictOf(`v1,${signed}`)).toBe("invalid_signature");
  expect(verdictOf(`v1a,${signed.replace(/^./, (one) => (one === "A" ? "B" : "A"))}`)).toBe(
    "invalid_signature",
  );
});

test("a secret of Standard Webhooks may have v1, in front, or be text by key", () => {
  const key = Buffer.from("a key of sixteen bytes or more..");
  const bare = key.toString("base64");
  const made = senders.standardWebhooks().provider;
  const headers = made.sign({
    ...{ eventId: "m", type: "t", body: Buffer.from("{}"), nowMs: 1_767_225_600_000 },
    secret: `whsec_${bare}`,
  });
  const delivery = deliveryOf(headers, "{}");
  for (const secret of [bare, `whsec_${bare}`, `v1,whsec_${bare}`]) {
    expect(verdict(senders.standardWebhooks(), [secret], delivery)).toBe("ok");
  }
  const asText = senders.standardWebhooks({ key: "utf8" });
  expect(verdict(asText, [key.toString()], delivery)).toBe("ok");
  expect(verdict(asText, [bare], delivery)).toBe("invalid_signature");
});
