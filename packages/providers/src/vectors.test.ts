import { readdirSync, readFileSync } from "node:fs";
import type { Delivery, Identification, SourceDefinition } from "@millrace/core";
import { describe, expect, test } from "vitest";
import * as senders from "./senders.ts";
import { deliveryOf, verdict } from "./testing/sign-delivery.ts";

// Deliveries that a sender's SDK or page made, and changed ones, which must be refused.

interface Vector {
  readonly provenance: string;
  readonly options?: object;
  readonly secret: string;
  readonly receivedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly events: readonly { readonly eventId?: string; readonly type: string }[];
}

const folder = new URL("../../../test/vectors/", import.meta.url);
const vectors = readdirSync(folder).map((file) => {
  const vector = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Vector;
  return [file.replace(/\.json$/, ""), vector] as const;
});
const functions = senders as unknown as Record<string, (options?: object) => SourceDefinition>;

function sourceOf(name: string, { options }: Vector): SourceDefinition {
  const camel = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const make = functions[camel];
  if (make === undefined) throw new Error(`${camel} is no provider`);
  return make(options);
}

describe.each(vectors)("%s", (name, vector) => {
  const source = sourceOf(name, vector);
  const { secret, receivedAtMs } = vector;
  const good = deliveryOf(vector.headers, vector.body, receivedAtMs);
  const verdictOf = async (delivery: Partial<Delivery>, live = secret) => {
    const verified = await verifierOf(live).verify({ ...good, ...delivery });
    return verified.ok ? "ok" : verified.code;
  };
  const verifierOf = (live: string) => source.provider.createVerifier([live]);
  const { authenticatedOnly = false, idIsSigned } = source.provider;
  const without = (header: string) =>
    verdictOf({ headers: { ...good.headers, [header]: undefined } });

  test("what the sender signed is accepted, and its events are named", async () => {
    expect(vector.provenance.length).toBeGreaterThan(20);
    expect(await verdictOf({})).toBe("ok");
    expect(source.provider.identify(good)).toMatchObject({ events: vector.events });
  });

  test("no other byte of the body is accepted", async () => {
    const bodies = Array.from(good.body, (byte, at) => {
      const body = Buffer.from(good.body);
      body[at] = byte ^ 1;
      return body;
    });
    const text = Buffer.from(good.body).toString();
    const rewritten = [text.slice(0, -1), `${text} `, `\ufeff${text}`, text + text, `${text}\r\n`];
    const others = [...bodies, ...rewritten.map((one) => Buffer.from(one))];
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
    const headers = Object.keys(good.headers);
    const verdicts = await Promise.all(headers.map(without));
    const signed = headers.filter((_, n) => verdicts[n] !== "ok");
    // Adyen's signature stands in the body.
    expect(signed.length > 0).toBe(name !== "adyen");
    for (const header of signed) {
      const value = good.headers[header] ?? "";
      const last = value.at(-1) === "0" ? "1" : "0";
      // Twice among pairs is two times; behind each other, the second signature is a good one.
      const doubled = value.startsWith("t=") ? `${value}, ${value}` : value + value;
      const wrong = [
        ...["", value.slice(0, -1), `${value}A`, doubled, `A${value}`],
        value.replace(/.(?==*$)/, last),
        encodeURIComponent(`${value}%`),
      ];
      for (const one of wrong.filter((text) => text !== value)) {
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
    const times = Object.entries(good.headers).filter(
      ([header, value]) => /timestamp/.test(header) || (value ?? "").startsWith("t="),
    );
    const verdicts = await Promise.all(times.map(([header]) => without(header)));
    const code = verdicts.some((one) => one !== "ok") ? "invalid_timestamp" : "ok";
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
