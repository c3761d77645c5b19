import { readdirSync, readFileSync } from "node:fs";
import type { Delivery, SourceDefinition } from "@millrace/core";
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
  const verdictOf = (delivery: Partial<Delivery>, live = secret) =>
    verdict(source, [live], { ...good, ...delivery });
  const isSigned = source.provider.authenticatedOnly !== true;
  const headerNames = Object.keys(good.headers).filter((one) =>
    /sig|token|authorization/.test(one),
  );

  test("what the sender signed is accepted, and its events are named", () => {
    expect(vector.provenance.length).toBeGreaterThan(20);
    expect(verdictOf({})).toBe("ok");
    expect(source.provider.identify(good)).toMatchObject({ kind: "events", events: vector.events });
  });

  test("no other byte of the body is accepted", () => {
    const bodies = Array.from(good.body, (byte, at) => {
      const body = Buffer.from(good.body);
      body[at] = byte ^ 1;
      return body;
    });
    const text = Buffer.from(good.body).toString();
    const rewritten = [text.slice(0, -1), `${text} `, `\ufeff${text}`, text + text, `${text}\r\n`];
    const others = [...bodies, ...rewritten.map((one) => Buffer.from(one))];
    const accepted = others.filter((body) => verdictOf({ body }) === "ok");
    expect(accepted).toHaveLength(isSigned ? 0 : others.length);
  });

  test("no other signature, id, or time is accepted", () => {
    expect(headerNames.length).toBeGreaterThan(0);
    const signed = Object.keys(good.headers).filter(
      (one) => headerNames.includes(one) || (source.provider.idIsSigned && /-id$|time/.test(one)),
    );
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
        const headers = { ...good.headers, [header]: one };
        expect([header, one, verdictOf({ headers })]).not.toEqual([header, one, "ok"]);
      }
    }
    expect(verdictOf({ headers: {} })).toBe("invalid_signature");
  });

  test("another secret is refused", () => {
    const other = `whsec_${Buffer.from("another secret of thirty-two bytes").toString("base64")}`;
    expect(verdictOf({}, other)).toBe("invalid_signature");
  });

  test("a stale or future time is refused, where one is signed", () => {
    const isTimed = Object.entries(good.headers).some(
      ([header, value]) => /timestamp/.test(header) || (value ?? "").startsWith("t="),
    );
    for (const offsetMs of [-86_500_000, 86_500_000]) {
      const code = isTimed ? "invalid_timestamp" : "ok";
      expect(verdictOf({ receivedAtMs: receivedAtMs + offsetMs })).toBe(code);
    }
  });
});

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
