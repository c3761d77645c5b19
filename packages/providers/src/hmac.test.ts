import { parseConfig } from "@millrace/core";
import { expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { HmacOptions, hmacOptionsSchema } from "./hmac.ts";
import { hmac } from "./index.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const base = { header: "x-sig", id: "header:x-id" } as const;

test.each([
  [
    "an id that touches the body",
    { ...base, message: "{id}{body}" },
    /message: must separate \{id\}/,
  ],
  ["an id that touches the body's end", { ...base, message: "{body}{id}" }, /must separate \{id\}/],
  [
    "an id that touches the time",
    { ...base, message: "{id}{ts}.{body}", timestamp: { header: "x-t" } },
    /must separate \{id\}/,
  ],
  ["the signature for an id", { ...base, id: "header:X-Sig" }, /id: must not be the header/],
  ["the signature for a type", { ...base, type: "header:x-sig" }, /type: must not be the header/],
  ["a credential for a type", { ...base, type: "header:Authorization" }, /type: must not be/],
  ["a path with brackets", { ...base, id: "json:data[0].id" }, /id: must be header:<name> or json/],
  ["a path with a gap", { ...base, id: "json:data..id" }, /id: must be header:<name> or json/],
  ["a path that ends in a dot", { ...base, id: "json:data." }, /id: must be header:<name> or json/],
  ["no body in what is signed", { ...base, message: "{id}" }, /message: must hold \{body\}/],
  ["the body twice", { ...base, message: "{body}.{body}" }, /message: must hold \{body\}/],
  ["an unknown placeholder", { ...base, message: "{url}{body}" }, /message: must hold \{body\}/],
])("hmac() refuses %s", (_title, options, message) => {
  const parse = () => parseConfig({ sources: { acme: hmac(options) } });
  expect(parse).toThrow(expect.objectContaining({ code: "invalid_config" }));
  expect(parse).toThrow(message);
});

test("one bad hmac() hides no other problem of a config", () => {
  const sources = {
    acme: hmac({ ...base, id: "nowhere", message: "{id}" }),
    bank: hmac({ ...base, idd: "x" } as HmacOptions),
  };
  const parse = () => parseConfig({ sources, worker: { concurrency: 0 } });
  for (const line of [
    /^ {2}sources\.acme\.id: must be header/m,
    /^ {2}sources\.acme\.message: must hold \{body\}/m,
    /^ {2}sources\.bank: has no option "idd"/m,
    /^ {2}worker\.concurrency: must be at least 1/m,
  ]) {
    expect(parse).toThrow(line);
  }
});

test("the end of an id cannot be moved into the text behind it", () => {
  const source = hmac({ ...base, message: "{id}::{body}" });
  const secret = source.provider.generateSecret();
  const honest = signedDelivery(source, { secret, eventId: "a", body: ':{"n":1}' });
  const shifted = { ...honest.headers, "x-id": "a:" };
  expect(verdict(source, [secret], honest)).toBe("ok");
  expect(verdict(source, [secret], deliveryOf(shifted, '{"n":1}'))).toBe("invalid_event_id");
});

test("the start of an id cannot be moved into the text before it", () => {
  const source = hmac({ ...base, message: "{body}::{id}" });
  const secret = source.provider.generateSecret();
  const honest = signedDelivery(source, { secret, eventId: "a", body: "{}:" });
  expect(verdict(source, [secret], honest)).toBe("ok");
  const shifted = { ...honest.headers, "x-id": ":a" };
  expect(verdict(source, [secret], deliveryOf(shifted, "{}"))).toBe("invalid_event_id");
});

test("an id beyond latin1 does not stand for the one that it is cut to", () => {
  const source = hmac({ ...base, message: "{id}.{body}" });
  const secret = source.provider.generateSecret();
  const honest = signedDelivery(source, { secret, eventId: "A", body: "{}" });
  const cut = { ...honest, headers: { ...honest.headers, "x-id": "\u0141" } };
  expect(verdict(source, [secret], cut)).toBe("invalid_event_id");
});

test("hmac() hands on the source's policy and keeps its own options", () => {
  const { options, provider } = hmac({ ...base, attempts: 3, toleranceMs: 1_000 });
  expect(options).toEqual({ attempts: 3, toleranceMs: 1_000 });
  expect(provider.keptHeaders).toEqual(["content-type", "x-id"]);
});

test("a header that only Millrace writes is not kept of a delivery", () => {
  expect(() => hmac({ ...base, id: "header:millrace-edited-from" })).toThrow(
    /keeps the header "millrace-edited-from"/,
  );
});

test("the id counts as signed exactly when it lies in what is signed", () => {
  expect(hmac(base).provider.idIsSigned).toBe(false);
  expect(hmac({ ...base, message: "{id}.{body}" }).provider.idIsSigned).toBe(true);
  expect(hmac({ ...base, id: "json:id" }).provider.idIsSigned).toBe(true);
});

test("every hash, encoding, unit and key verifies what it signs", () => {
  for (const algorithm of ["sha256", "sha1", "sha512"] as const) {
    for (const encoding of ["hex", "base64", "base64url"] as const) {
      for (const unit of ["s", "ms"] as const) {
        for (const key of ["utf8", "hex", "base64"] as const) {
          const timestamp = { header: "x-t", unit };
          const made = { ...base, algorithm, encoding, key, timestamp, message: "{ts}{body}" };
          const source = hmac(made);
          const secret = source.provider.generateSecret();
          const delivery = signedDelivery(source, { secret });
          expect([made, verdict(source, [secret], delivery)]).toEqual([made, "ok"]);
          const stale = { ...delivery, receivedAtMs: NOW_MS + 301_000 };
          expect(verdict(source, [secret], stale)).toBe("invalid_timestamp");
        }
      }
    }
  }
});

test("the options that users write are exactly those that the schema checks", () => {
  expectTypeOf<z.input<typeof hmacOptionsSchema>>().toEqualTypeOf<HmacOptions>();
});
