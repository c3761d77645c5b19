import { parseConfig, type Delivery, type Source, type SourceDefinition } from "@millrace/core";
import { github, hmac, square, standardWebhooks, stripe, svix, twilio } from "@millrace/providers";
import { expect, test } from "vitest";
import { diagnose } from "./diagnose.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const URL_OF_SHOP = "https://hooks.example.com/webhooks/shop?token=hidden-token";

const { sources } = parseConfig({
  sources: {
    pay: stripe(),
    test: stripe(),
    code: github(),
    shop: square({ url: URL_OF_SHOP }),
    calls: twilio({ url: "https://hooks.example.com/webhooks/calls" }),
    text: hmac({ header: "x-sig", id: "json:id" }),
    digits: hmac({ header: "x-sig", id: "json:id", key: "hex" }),
    standard: standardWebhooks(),
    relay: svix(),
  },
});

const HEX = "0123456789abcdef0123456789abcdef";
const BASE64 = Buffer.from(HEX, "hex").toString("base64");
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  pay: ["whsec_pay-first", "whsec_pay-second"],
  test: ["whsec_test-secret"],
  code: ["code-secret"],
  shop: ["shop-secret"],
  calls: ["calls-secret"],
  text: [HEX],
  digits: [HEX],
  standard: [`whsec_${BASE64}`],
  relay: [`whsec_${BASE64}`],
};

interface Signing {
  /** Instead of the source itself. */
  readonly by?: SourceDefinition;
  readonly secret?: string;
  readonly body?: string | Buffer;
  readonly agoMs?: number;
}

function deliveryOf(name: string, signing: Signing = {}): Delivery {
  const { provider } = signing.by ?? sourceOf(name);
  const { secret = SECRETS[name]?.[0] ?? "", body = '{"id":"evt_1","type":"t"}' } = signing;
  const nowMs = NOW_MS - (signing.agoMs ?? 0);
  const bytes = Buffer.from(body);
  const signed = provider.sign({ eventId: "evt_1", type: "t", body: bytes, secret, nowMs });
  const headers = Object.entries(signed).map(([key, value]) => [key.toLowerCase(), value]);
  return {
    ...{ method: "POST", url: `/webhooks/${name}`, body: bytes, receivedAtMs: NOW_MS },
    headers: Object.fromEntries(headers),
  };
}

function sourceOf(name: string): Source {
  const source = sources[name];
  if (source === undefined) throw new Error(`no source ${name}`);
  return source;
}

/** The reason and the sentences, which hold no secret. */
async function ask(name: string, delivery: Delivery) {
  const { valid, failure, sentences } = await diagnose({
    ...{ name, source: sourceOf(name), sources, secrets: SECRETS, delivery },
  });
  const text = sentences.join("\n");
  for (const secret of [...Object.values(SECRETS).flat(), HEX, BASE64, "hidden-token"]) {
    expect(text).not.toContain(secret);
  }
  return { reason: valid ? "valid" : failure?.reason, seconds: failure?.seconds, text };
}

test("a good delivery is valid, with each live secret", async () => {
  for (const name of Object.keys(SECRETS)) {
    expect([name, await ask(name, deliveryOf(name))]).toMatchObject([name, { reason: "valid" }]);
  }
  const second = deliveryOf("pay", { secret: "whsec_pay-second" });
  expect(await ask("pay", second)).toMatchObject({ reason: "valid" });
});

test("a signature that is not there or cannot be one is told with its header", async () => {
  const bare = { ...deliveryOf("pay"), headers: {} };
  expect(await ask("pay", bare)).toMatchObject({
    reason: "header_missing",
    text: expect.stringMatching(/stripe-signature is missing\.\n.*a proxy removed/),
  });
  const odd = { ...deliveryOf("pay"), headers: { "stripe-signature": "sha256=00" } };
  expect(await ask("pay", odd)).toMatchObject({
    reason: "malformed",
    text: expect.stringMatching(/stripe-signature holds no signature\.\n.*a proxy changed/),
  });
});

test("a signed time is told by how many seconds it is off", async () => {
  expect(await ask("pay", deliveryOf("pay", { agoMs: 4_000_000 }))).toEqual({
    ...{ reason: "too_old", seconds: 4_000 },
    text: expect.stringMatching(/matches a secret of "pay"\.\n.*4,000 s in the past/),
  });
  expect(await ask("pay", deliveryOf("pay", { agoMs: -4_000_000 }))).toEqual({
    ...{ reason: "too_new", seconds: 4_000 },
    text: expect.stringContaining("4,000 s in the future"),
  });
});

test("a secret of another source is told, and how old the delivery is too", async () => {
  const delivery = deliveryOf("pay", { secret: "whsec_test-secret", agoMs: 4_000_000 });
  expect(await ask("test", delivery)).toMatchObject({ reason: "too_old" });
  const { reason, text } = await ask("pay", delivery);
  expect(reason).toBe("no_secret_matches");
  expect(text).toContain('It matches a secret of "test", which "pay" does not have.');
  expect(text).toContain("4,000 s in the past");
});

test("a delivery for another source is told", async () => {
  const { reason, text } = await ask("pay", deliveryOf("code"));
  expect(reason).toBe("header_missing");
  expect(text).toContain('It is a delivery for "code"');
});

const ofKey = (key: "utf8" | "hex" | "base64") => hmac({ header: "x-sig", id: "json:id", key });

test.each<[string, string, Signing, string]>([
  ["as text", "digits", { by: ofKey("utf8") }, "the secret, used as text"],
  ["in hex", "text", { by: ofKey("hex") }, "the secret, decoded as hexadecimal"],
  ["in base64", "text", { by: ofKey("base64") }, "the secret, decoded as base64"],
  ["without its prefix", "pay", { secret: "pay-first" }, "secret 1 of 2 without its whsec_"],
  ["with a prefix", "code", { secret: "whsec_code-secret" }, "the secret with whsec_ in front"],
  [
    "as text with its prefix",
    "standard",
    { by: standardWebhooks({ key: "utf8" }) },
    "the secret, used as text",
  ],
  [
    "as text without its prefix",
    "standard",
    { by: standardWebhooks({ key: "utf8" }), secret: BASE64 },
    "the secret without its whsec_, used as text",
  ],
])("a secret that the sender reads %s is told", async (_title, name, signing, expected) => {
  const { reason, text } = await ask(name, deliveryOf(name, signing));
  expect(reason).toBe("no_secret_matches");
  expect(text).toContain(`It matches ${expected}.`);
});

test.each([
  ["http", "http://hooks.example.com/webhooks/shop"],
  ["a slash", "https://hooks.example.com/webhooks/shop/"],
  ["both", "http://hooks.example.com/webhooks/shop/"],
  ["another host", "https://other.example.com/webhooks/shop"],
])("a URL that differs by %s is told without its query", async (_title, url) => {
  const query = URL_OF_SHOP.slice(URL_OF_SHOP.indexOf("?"));
  const signed = deliveryOf("shop", { by: square({ url: `${url}${query}` }) });
  const headers = { ...signed.headers, host: "other.example.com" };
  const delivery = { ...signed, headers, url: `/webhooks/shop${query}` };
  expect((await ask("shop", delivery)).text).toContain(
    `It is signed for ${url}, and the config has https://hooks.example.com/webhooks/shop.`,
  );
  const called = url.replace("shop", "calls");
  const form = deliveryOf("calls", { by: twilio({ url: called }), body: "From=1" });
  const behind = { ...form, headers: { ...form.headers, host: "other.example.com" } };
  expect((await ask("calls", behind)).text).toContain(`signed for ${called}, and`);
});

const PAYLOAD = { id: "evt_1", url: "https://example.com/é", list: [1, { a: ", \n : " }] };
const JSON_TEXT = JSON.stringify(PAYLOAD);
const SPACED =
  '{"id": "evt_1", "url": "https://example.com/\\u00e9", "list": [1, {"a": ", \\n : "}]}';

test.each<[string, string | Buffer, string, string]>([
  ["pretty JSON", JSON.stringify(PAYLOAD, null, 2), JSON_TEXT, "as JSON with an indent of 2"],
  ["JSON with an indent of 4", JSON.stringify(PAYLOAD, null, 4), JSON_TEXT, "with an indent of 4"],
  ["compact JSON", JSON_TEXT, JSON.stringify(PAYLOAD, null, 2), "as JSON without white space"],
  ["PHP's JSON", JSON_TEXT.replaceAll("/", "\\/"), JSON_TEXT, "with escaped slashes"],
  ["Python's JSON", SPACED, JSON_TEXT, "a space behind each comma and colon, in ASCII"],
  ["lines in CRLF", "a=1\r\nb=2\r\n", "a=1\nb=2\n", "with lines that end in CRLF"],
  ["lines in LF", "a=1\nb=2\n", "a=1\r\nb=2\r\n", "with lines that end in LF"],
  ["a BOM", `\ufeff${JSON_TEXT}`, JSON_TEXT, "with a byte order mark (BOM) in front"],
  ["no BOM", JSON_TEXT, `\ufeff${JSON_TEXT}`, "without the byte order mark (BOM) in front"],
  ["no line end", JSON_TEXT, `${JSON_TEXT}\n`, "without the line end behind it"],
  ["a line end", `${JSON_TEXT}\n`, JSON_TEXT, "with a line end behind it"],
])("a body that was signed as %s is told", async (_title, signed, came, expected) => {
  const delivery = { ...deliveryOf("code", { body: signed }), body: Buffer.from(came) };
  const { reason, text } = await ask("code", delivery);
  expect(reason).toBe("no_secret_matches");
  expect(text).toContain("The body was changed on its way: it was signed");
  expect(text).toContain(expected);
});

test("what nothing explains is told as that", async () => {
  const { text } = await ask("code", deliveryOf("code", { secret: "a-secret-of-nobody" }));
  expect(text).toMatch(/No secret of this config matches.*Copy the secret from the sender again/);
});
