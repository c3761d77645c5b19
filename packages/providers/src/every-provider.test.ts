import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as providers from "./senders.ts";
import { EVERY_SOURCE, TOKEN_SOURCES, VECTOR_SOURCES } from "./testing/every-source.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict, verifyNow } from "./testing/sign-delivery.ts";

const IS_SIGNATURE = /sig|hmac/;

test("every provider that there is stands in the loop", () => {
  const looped = new Set(
    Object.keys({ ...EVERY_SOURCE, ...TOKEN_SOURCES, ...VECTOR_SOURCES }).map(
      (name) => name.split(" ")[0],
    ),
  );
  expect([...looped].toSorted()).toEqual(Object.keys(providers).toSorted());
});

describe.each(Object.entries(EVERY_SOURCE))("%s", (_name, sourceCase) => {
  const { source, identity = (eventId: string) => eventId, toleranceMs } = sourceCase;
  const { bodyOf = (bytes: Uint8Array) => bytes, signsTheSame = () => false } = sourceCase;
  const { provider } = source;
  const secret = provider.generateSecret();
  const fresh = provider.generateSecret();

  test("verifies what it signs, and reads the id and the type back", () => {
    for (const type of [...provider.sampleTypes, "something.else"]) {
      const delivery = signedDelivery(source, { secret, eventId: "evt_42", type });
      expect([type, verdict(source, [secret], delivery)]).toEqual([type, "ok"]);
      const identified = provider.identify(delivery);
      expect(identified).toMatchObject({ ok: true });
      const events = identified.ok ? identified.events : [];
      const names = events.map(({ eventId, type: read }) => ({ eventId, type: read }));
      expect(names).toEqual([{ eventId: identity("evt_42", type, delivery.body), type }]);
    }
  });

  test("another event id is another identity, and the same is the same", () => {
    const idOf = (eventId: string) => {
      const found = provider.identify(signedDelivery(source, { secret, eventId }));
      return found.ok ? found.events[0]?.eventId : undefined;
    };
    expect(idOf("evt_1")).toBeTypeOf("string");
    expect(idOf("evt_1")).toBe(idOf("evt_1"));
    expect(idOf("evt_1")).not.toBe(idOf("evt_2"));
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
          const expected = signsTheSame(body, delivery.body) ? "ok" : "invalid_signature";
          expect(verdict(source, [secret], { ...delivery, body })).toBe(expected);
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
    const names = Object.keys(signed).filter(
      (name) => name !== "content-type" && sourceCase.loose?.test(name) !== true,
    );
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
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
      eventId: fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/),
      type: fc.stringMatching(/^[a-z.]{1,60}$/),
      nowMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    });
    fc.assert(
      fc.property(delivery, fc.nat(), fc.integer({ min: 1, max: 255 }), (request, n, flip) => {
        const { bytes, eventId, type, nowMs } = request;
        const body = bodyOf(bytes, nowMs);
        const headers = provider.sign({ eventId, type, body, nowMs, secret: fresh });
        expect(verdict(source, [secret, fresh], deliveryOf(headers, body, nowMs))).toBe("ok");
        expect(verdict(source, [secret], deliveryOf(headers, body, nowMs))).not.toBe("ok");
        const changed = Buffer.from(body);
        const at = n % body.length;
        changed[at] = (changed[at] ?? 0) ^ flip;
        const isOk = verdict(source, [fresh], deliveryOf(headers, changed, nowMs)) === "ok";
        expect(isOk).toBe(signsTheSame(changed, body));
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

  test("holds a signed time against the clock, both ways, and takes another tolerance", () => {
    const delivery = signedDelivery(source, { secret });
    const at = (offsetMs: number, options?: { toleranceMs: number }) => {
      const verifier = provider.createVerifier([secret], options);
      const verification = verifyNow(verifier, { ...delivery, receivedAtMs: NOW_MS + offsetMs });
      return verification.ok ? "ok" : verification.code;
    };
    const within = toleranceMs ?? 90 * 86_400_000;
    const beyond = toleranceMs === undefined ? "ok" : "invalid_timestamp";
    for (const sign of [1, -1]) {
      expect(at(sign * within)).toBe("ok");
      expect(at(sign * (within + 1_000))).toBe(beyond);
      expect(at(sign * 1_001, { toleranceMs: 1_000 })).toBe(beyond);
      expect(at(sign * (within + 1_000), { toleranceMs: within + 2_000 })).toBe("ok");
    }
  });

  test("refuses a signature that comes twice, or takes it when one of the two is good", () => {
    const good = signedDelivery(source, { secret });
    const bad = signedDelivery(source, { secret: fresh });
    const names = Object.keys(good.headers).filter((name) => IS_SIGNATURE.test(name));
    for (const name of names) {
      const [right = "", wrong = ""] = [good.headers[name], bad.headers[name]];
      const twice = (value: string) =>
        verdict(source, [secret], { ...good, headers: { ...good.headers, [name]: value } });
      for (const value of [`${right}, ${wrong}`, `${wrong}, ${right}`]) {
        expect(["ok", "invalid_signature", "invalid_timestamp"]).toContain(twice(value));
      }
      expect(twice(`${wrong}, ${wrong}`)).not.toBe("ok");
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
    ).filter(([name]) => IS_SIGNATURE.test(name));
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
      expect(verdict(source, [secret], delivery)).toBe(sourceCase.oddBodies ?? "ok");
      expect(() => provider.identify(delivery)).not.toThrow();
    }
  });
});
