import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { github, hmac, hookMesh, standardWebhooks, stripe } from "./index.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const SOURCES = {
  stripe: stripe(),
  github: github(),
  hookMesh: hookMesh(),
  "hookMesh with a hexadecimal key": hookMesh({ key: "hex" }),
  standardWebhooks: standardWebhooks(),
  "hmac over the body": hmac({ header: "x-sig", id: "json:data.id", type: "json:data.type" }),
  "hmac over a template": hmac({
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
};

describe.each(Object.entries(SOURCES))("%s", (_name, source) => {
  const { provider } = source;
  const secret = provider.generateSecret();
  const fresh = provider.generateSecret();

  test("verifies what it signs, and reads the id and the type back", () => {
    for (const type of [...provider.sampleTypes, "something.else"]) {
      const delivery = signedDelivery(source, { secret, eventId: "evt_42", type });
      expect([type, verdict(source, [secret], delivery)]).toEqual([type, "ok"]);
      expect(provider.identify(delivery)).toEqual({
        ok: true,
        kind: "events",
        events: [{ eventId: "evt_42", type }],
      });
    }
  });

  test("refuses every change of one byte of the body", () => {
    const delivery = signedDelivery(source, { secret });
    fc.assert(
      fc.property(
        fc.nat(delivery.body.length - 1),
        fc.integer({ min: 1, max: 255 }),
        (at, flip) => {
          const body = Buffer.from(delivery.body);
          body[at] = (body[at] ?? 0) ^ flip;
          expect(verdict(source, [secret], { ...delivery, body })).toBe("invalid_signature");
        },
      ),
    );
    const longer = Buffer.concat([delivery.body, Buffer.from("\n")]);
    expect(verdict(source, [secret], { ...delivery, body: longer })).toBe("invalid_signature");
  });

  test("refuses every change of one character of what it signs with, but a digit's case", () => {
    const delivery = signedDelivery(source, { secret });
    const signed = provider.sign({
      eventId: "evt_1",
      type: "t",
      body: delivery.body,
      secret,
      nowMs: NOW_MS,
    });
    // Content type and, where the signature does not cover them, the names of the event.
    const loose = provider.idIsSigned ? /^content-type$|type$/ : /^content-type$|^x-github-/;
    const names = Object.keys(signed).filter((name) => !loose.test(name));
    expect(names.length).toBeGreaterThan(0);
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.nat(),
        fc.integer({ min: 0x20, max: 0xff }),
        (name, n, code) => {
          const value = delivery.headers[name] ?? "";
          const at = n % value.length;
          const changed = value.slice(0, at) + String.fromCharCode(code) + value.slice(at + 1);
          const isHex = /[0-9a-f]{40}/.test(value);
          const isSame = isHex ? changed.toLowerCase() === value.toLowerCase() : changed === value;
          fc.pre(!isSame);
          const headers = { ...delivery.headers, [name]: changed };
          expect(verdict(source, [secret], { ...delivery, headers })).not.toBe("ok");
        },
      ),
      { numRuns: 500 },
    );
  });

  test("verifies whatever it signs, and nothing that was changed since", () => {
    const delivery = fc.record({
      body: fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      eventId: fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/),
      type: fc.stringMatching(/^[a-z.]{1,60}$/),
      nowMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    });
    fc.assert(
      fc.property(delivery, fc.nat(), fc.integer({ min: 1, max: 255 }), (request, n, flip) => {
        const { body, nowMs } = request;
        const headers = provider.sign({ ...request, secret: fresh });
        expect(verdict(source, [secret, fresh], deliveryOf(headers, body, nowMs))).toBe("ok");
        expect(verdict(source, [secret], deliveryOf(headers, body, nowMs))).not.toBe("ok");
        const changed = Buffer.from(body);
        const at = n % body.length;
        changed[at] = (changed[at] ?? 0) ^ flip;
        expect(verdict(source, [fresh], deliveryOf(headers, changed, nowMs))).not.toBe("ok");
      }),
    );
  });

  test("takes each of several live secrets, and none that is not", () => {
    const old = provider.generateSecret();
    for (const signing of [old, fresh]) {
      const delivery = signedDelivery(source, { secret: signing });
      expect(verdict(source, [old, fresh], delivery)).toBe("ok");
      expect(verdict(source, [secret], delivery)).toBe("invalid_signature");
    }
  });

  test("refuses to verify without a real secret, and never shows it", () => {
    const empty = ["", "   ", "whsec_", "short", " padded-secret-padded ", "\n"];
    for (const bad of empty) {
      const make = () => provider.createVerifier([secret, bad]);
      expect(make).toThrow(expect.objectContaining({ code: "missing_secret" }));
      expect(make).not.toThrow(secret);
    }
    expect(() => provider.createVerifier(["   "])).toThrow(/the secret is empty/);
    expect(() => provider.createVerifier([])).toThrow(
      expect.objectContaining({ code: "missing_secret" }),
    );
  });

  test("refuses deliveries that lack any of the headers it signs with", () => {
    const delivery = signedDelivery(source, { secret });
    const bare = { ...delivery, headers: {} };
    expect(verdict(source, [secret], bare)).toBe("invalid_signature");
  });

  test("keeps no header that holds a signature", () => {
    const signature = Object.entries(
      provider.sign({
        eventId: "evt_1",
        type: "t",
        body: Buffer.from("{}"),
        secret,
        nowMs: 0,
      }),
    ).filter(([name]) => /sig/.test(name));
    expect(signature.length).toBeGreaterThan(0);
    for (const [name] of signature) expect(provider.keptHeaders).not.toContain(name);
  });

  test("does not crash on bodies that are deep, odd or no JSON", () => {
    const bodies = [
      "[".repeat(40_000),
      "null",
      "[]",
      '"x"',
      "5",
      "{",
      "\0",
      '{"__proto__":{"id":1}}',
    ];
    for (const body of bodies) {
      const delivery = signedDelivery(source, { secret, body });
      expect(verdict(source, [secret], delivery)).toBe("ok");
      expect(() => provider.identify(delivery)).not.toThrow();
    }
  });
});
