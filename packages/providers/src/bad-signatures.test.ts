import { parseConfig, type SourceDefinition } from "@millrace/core";
import { expect, test } from "vitest";
import { github, hmac, standardWebhooks, stripe } from "./index.ts";
import { EVERY_SOURCE } from "./testing/every-source.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const goodGithub = signedDelivery(github(), { secret: SECRET });
const goodHex = (goodGithub.headers["x-hub-signature-256"] ?? "").slice("sha256=".length);

test.each([
  ["no header", undefined],
  ["an empty header", ""],
  ["one character", "sha256=a"],
  ["63 digits", `sha256=${goodHex.slice(0, 63)}`],
  ["65 digits", `sha256=${goodHex}0`],
  ["ten thousand digits", `sha256=${goodHex.repeat(160)}`],
  ["64 characters that are no digits", `sha256=${"z".repeat(64)}`],
  ["64 characters above 127", `sha256=${"é".repeat(64)}`],
  ["a right beginning", `sha256=${goodHex.slice(0, 32)}`],
  ["a right beginning, filled up", `sha256=${goodHex.slice(0, 32)}${"0".repeat(32)}`],
  ["no scheme", goodHex],
  ["another scheme", `sha1=${goodHex}`],
  ["the scheme none", "none"],
  ["good, then bad", `sha256=${goodHex}, sha256=${"0".repeat(64)}`],
  ["bad, then good", `sha256=${"0".repeat(64)}, sha256=${goodHex}`],
  ["trailing garbage", `sha256=${goodHex} x`],
])("a body's signature with %s is refused", (_title, value) => {
  const headers = value === undefined ? {} : { "x-hub-signature-256": value };
  expect(verdict(github(), [SECRET], { ...goodGithub, headers })).toBe("invalid_signature");
});

test.each(Object.entries(EVERY_SOURCE))(
  "%s: what is no signature is refused",
  (_name, { source }) => {
    const secret = source.provider.generateSecret();
    const good = signedDelivery(source, { secret });
    const names = Object.keys(good.headers).filter((name) => /sig|hmac/.test(name));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const value = good.headers[name] ?? "";
      const wrong = [
        ...["", "a", "none", "=", ",", ";", " ", "é".repeat(64), "x".repeat(10_000)],
        value.slice(0, -1),
        value.slice(1),
        value.slice(0, value.length / 2),
        `${value}0`,
        `${value}=`,
        value.replaceAll(/[^]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0x100)),
      ];
      for (const one of wrong) {
        const delivery = { ...good, headers: { ...good.headers, [name]: one } };
        expect([one, verdict(source, [secret], delivery)]).not.toEqual([one, "ok"]);
      }
      const { [name]: _missing, ...others } = good.headers;
      expect(verdict(source, [secret], { ...good, headers: others })).toMatch(/^invalid_/);
    }
  },
);

test("hexadecimal digits may be in either case", () => {
  const headers = { "x-hub-signature-256": `sha256=${goodHex.toUpperCase()}` };
  expect(verdict(github(), [SECRET], { ...goodGithub, headers })).toBe("ok");
});

test("characters beyond latin1 are no digits, though Node reads their low byte as one", () => {
  const wide = goodHex.split("").map((digit) => String.fromCharCode(digit.charCodeAt(0) + 0x100));
  const headers = { "x-hub-signature-256": `sha256=${wide.join("")}` };
  expect(verdict(github(), [SECRET], { ...goodGithub, headers })).toBe("invalid_signature");
});

test("a header that is named like a property of every object is missing, not a crash", () => {
  const source = hmac({ header: "constructor", id: "json:id" });
  expect(verdict(source, [SECRET], deliveryOf({}, "{}"))).toBe("invalid_signature");
});

test("base64 is taken in its one form: with padding, without anything behind", () => {
  const good = signedDelivery(standardWebhooks(), { secret: SECRET });
  const signature = good.headers["webhook-signature"] ?? "";
  const forms = [
    signature.replace(/=+$/, ""),
    signature.replaceAll("+", "-").replaceAll("/", "_"),
    `${signature}x`,
    `${signature}==`,
    signature.replace("v1,", "v1a,"),
    signature.replace("v1,", ""),
  ].filter((form) => form !== signature);
  for (const form of forms) {
    const headers = { ...good.headers, "webhook-signature": form };
    expect([form, verdict(standardWebhooks(), [SECRET], { ...good, headers })]).toEqual([
      form,
      "invalid_signature",
    ]);
  }
});

test.each(["sha1", "sha256", "sha512"] as const)(
  "base64 that is as long as a %s signature but of other bytes is refused, not thrown at",
  (algorithm) => {
    for (const encoding of ["base64", "base64url"] as const) {
      const source = hmac({ header: "x-sig", id: "json:id", algorithm, encoding });
      const good = signedDelivery(source, { secret: SECRET });
      const length = good.headers["x-sig"]?.length ?? 0;
      for (const padding of ["", "=", "=="]) {
        const headers = { "x-sig": "A".repeat(length - padding.length) + padding };
        expect(verdict(source, [SECRET], { ...good, headers })).toBe("invalid_signature");
      }
    }
  },
);

test("one good signature among others is found, ten thousand others are not looked at", () => {
  const good = signedDelivery(standardWebhooks(), { secret: SECRET });
  const signature = good.headers["webhook-signature"] ?? "";
  const bad = `v1,${Buffer.alloc(32).toString("base64")}`;
  const withList = (list: string) => ({
    ...good,
    headers: { ...good.headers, "webhook-signature": list },
  });
  const source = standardWebhooks();
  expect(verdict(source, [SECRET], withList(`v1a,xyz ${`${bad} `.repeat(19)}${signature}`))).toBe(
    "ok",
  );
  expect(verdict(source, [SECRET], withList(`${`${bad} `.repeat(10_000)}${signature}`))).toBe(
    "invalid_signature",
  );
  // A header that came twice is one longer list.
  expect(verdict(source, [SECRET], withList(`${bad}, ${signature}`))).toBe("ok");
});

test("Stripe's header: schemes other than v1 count for nothing, and a second time is refused", () => {
  const good = signedDelivery(stripe(), { secret: SECRET });
  const header = good.headers["stripe-signature"] ?? "";
  const withHeader = (value: string) => ({ ...good, headers: { "stripe-signature": value } });
  const verify = (value: string) => verdict(stripe(), [SECRET], withHeader(value));
  expect(verify(header.replace("v1=", "v0="))).toBe("invalid_signature");
  expect(verify(`v0=${"0".repeat(64)},v1=${"0".repeat(64)},${header}`)).toBe("ok");
  expect(verify(`${header}, ${header}`)).toBe("invalid_timestamp");
  expect(verify(header.replace(/t=\d+/, "t="))).toBe("invalid_timestamp");
});

test.each([
  ["missing", ""],
  ["no number", "NaN"],
  ["an exponent", "1e9"],
  ["hexadecimal", "0x10"],
  ["negative", "-1"],
  ["a fraction", `${NOW_MS / 1_000}.5`],
  ["milliseconds", String(NOW_MS)],
  ["followed by letters", `${NOW_MS / 1_000}abc`],
  ["twenty digits long", "1".repeat(20)],
])("a time that is %s is refused", (_title, time) => {
  const good = signedDelivery(standardWebhooks(), { secret: SECRET });
  const headers = { ...good.headers, "webhook-timestamp": time };
  expect(verdict(standardWebhooks(), [SECRET], { ...good, headers })).toBe("invalid_timestamp");
});

test.each([
  [300_000, "ok"],
  [301_000, "invalid_timestamp"],
  [86_400_000, "invalid_timestamp"],
])("a tolerance of 300 s holds %i ms both ways", (distance, expected) => {
  for (const source of [stripe(), standardWebhooks()]) {
    const delivery = signedDelivery(source, { secret: SECRET });
    for (const receivedAtMs of [NOW_MS + distance, NOW_MS - distance]) {
      expect(verdict(source, [SECRET], { ...delivery, receivedAtMs })).toBe(expected);
    }
  }
});

test("a source's own tolerance goes before the provider's", () => {
  const source = stripe({ toleranceMs: 10_000 });
  const delivery = signedDelivery(source, { secret: SECRET });
  expect(verdict(source, [SECRET], { ...delivery, receivedAtMs: NOW_MS + 11_000 })).toBe(
    "invalid_timestamp",
  );
});

test("an id that would shift the boundary of what is signed is refused", () => {
  const body = "{}";
  const headers = standardWebhooks().provider.sign({
    eventId: "a.b",
    type: "t",
    body: Buffer.from(body),
    secret: SECRET,
    nowMs: NOW_MS,
  });
  expect(verdict(standardWebhooks(), [SECRET], deliveryOf(headers, body))).toBe("invalid_event_id");
});

test("hmac() names every problem of its options at once", () => {
  const parse = (acme: SourceDefinition) => () => parseConfig({ sources: { acme } });
  const make = parse(
    hmac({
      header: "not a header",
      id: "somewhere",
      message: "{ts}.{body}",
      // A config in plain JavaScript may hold anything.
      ...({ algorythm: "sha256" } as object),
    }),
  );
  expect(make).toThrow(expect.objectContaining({ code: "invalid_config" }));
  expect(make).toThrow(/header: [\s\S]*id: must be header:<name>/);
  expect(make).toThrow(/algorythm/);
  const unsignedTime = hmac({ header: "x-s", id: "json:id", timestamp: { header: "x-t" } });
  expect(parse(unsignedTime)).toThrow(/message: must hold \{ts\}/);
});
