import { parseConfig, type SourceDefinition } from "@millrace/core";
import { expect, test } from "vitest";
import {
  defineProvider,
  digest,
  gitlab,
  hookMesh,
  meta,
  signature,
  StaleTimestamp,
  square,
  standardWebhooks,
  twilio,
  Unavailable,
  woocommerce,
} from "./index.ts";
import * as senders from "./senders.ts";
import type { VerifyFunction } from "./index.ts";
import { deliveryOf, signedDelivery, verdict, verifyNow } from "./testing/sign-delivery.ts";

const SECRETS = ["first-secret", "second-secret"];
const GOOD = deliveryOf({}, '{"id":"e1","type":"t"}');

/** The verification of a function as a user's config may write it, types or not. */
function verify(check: (...args: Parameters<VerifyFunction>) => unknown, delivery = GOOD) {
  const make = defineProvider({
    name: "acme",
    verify: check as VerifyFunction,
    id: "json:id",
    type: "json:type",
  });
  return make().provider.createVerifier(SECRETS).verify(delivery);
}

test("a function accepts by true or the signed bytes, with any live secret", async () => {
  expect(await verify((_request, secret) => secret === "second-secret")).toEqual({ ok: true });
  expect(await verify((_request, secret) => Promise.resolve(secret === "second-secret"))).toEqual({
    ok: true,
  });
  const signed = Buffer.from("signed");
  expect(await verify(() => ({ signed }))).toEqual({ ok: true, signed: [signed] });
  expect(
    await verify(({ text, body, method }) => method === "POST" && text === body.toString()),
  ).toEqual({ ok: true });
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["an object", {}],
  ["a payload", { id: "e1" }],
  ["text", "true"],
  ["one", 1],
  ["signed text", { signed: "bytes" }],
])("a function that returns %s accepts nothing, and that is an error", async (_title, result) => {
  for (const verified of [
    await verify(() => result),
    await verify(() => Promise.resolve(result)),
  ]) {
    expect(verified).toMatchObject({ code: "invalid_signature", error: expect.any(Error) });
  }
});

test("false refuses, and is no error", async () => {
  expect(await verify(() => false)).not.toHaveProperty("error");
});

test.each([
  ["an SDK's error", new Error("no match"), "invalid_signature"],
  ["text", "no match", "invalid_signature"],
  ["a TypeError", new TypeError("x is not a function"), "provider_failed"],
  ["a ReferenceError", new ReferenceError("x is not defined"), "provider_failed"],
  ["a RangeError", new RangeError("out of range"), "provider_failed"],
  ["Unavailable", new Unavailable(), "unavailable"],
  ["StaleTimestamp", new StaleTimestamp(), "invalid_timestamp"],
])("a function that throws %s", async (_title, error, code) => {
  const fail = () => {
    throw error;
  };
  expect(await verify(fail)).toMatchObject({ ok: false, code });
  expect(await verify(() => Promise.resolve().then(fail))).toMatchObject({ ok: false, code });
  const other = await verify((_request, secret) => secret === "second-secret" || fail());
  expect(other).toEqual({ ok: true });
});

test("a bug counts for more than a signature that does not match", async () => {
  const failing = await verify((_request, secret) => {
    if (secret === "first-secret") throw new TypeError("a bug");
    return false;
  });
  expect(failing).toMatchObject({ code: "provider_failed", error: expect.any(TypeError) });
});

test("a wrong option of any source hides no other problem of a config", () => {
  const makers = Object.entries(senders) as [string, (options: object) => SourceDefinition][];
  const sources = Object.fromEntries(
    makers.map(([name, make]) => [name.toLowerCase(), make({ attempts: "5", atempts: 1 })]),
  );
  const lines = problemsOf({
    ...sources,
    code: gitlab({ auth: "basic" as "token" }),
    events: standardWebhooks({ key: "base32" as "hex" }),
    mesh: hookMesh({ key: "base32" as "hex" }),
    sms: twilio({ url: "https://hooks.example.com/a?b=1" }),
  });
  for (const name of Object.keys(sources)) {
    expect(lines).toMatch(new RegExp(`sources\\.${name}\\.options\\.attempts: must`));
    expect(lines).toMatch(new RegExp(`sources\\.${name}(\\.options)?: has no option "atempts"`));
  }
  for (const path of ["code.auth", "events.key", "mesh.key", "sms.url"]) {
    expect(lines).toContain(`sources.${path}: must`);
  }
  expect(lines).toContain("worker.concurrency: must");
});

test("a verify token stands in front of the secret, and the config file has no place for it", () => {
  const token = { verifyToken: "a token of ours" };
  expect(problemsOf({ hooks: meta(token as object) })).toMatch(
    /sources\.hooks(\.options)?: has no option "verifyToken"/,
  );
  const verifier = meta().provider.createVerifier(["a token of ours:the app's secret"]);
  const url = "/?hub.mode=subscribe&hub.challenge=1158&hub.verify_token=a%20token%20of%20ours";
  const asked = { ...deliveryOf({}, ""), method: "GET", url };
  expect(verifyNow(verifier, asked)).toMatchObject({ ok: true, handshake: { body: "1158" } });
});

function problemsOf(sources: Readonly<Record<string, SourceDefinition>>): string {
  try {
    parseConfig({ sources, worker: { concurrency: 0 } });
  } catch (error) {
    return String(error);
  }
  return "";
}

test("an id is unsigned unless the provider says otherwise, which a token cannot", () => {
  const parts = { name: "acme", id: "json:id" } as const;
  const signed = signature({ header: "x-sig" });
  expect(defineProvider({ ...parts, verify: signed })().provider.idIsSigned).toBe(false);
  expect(defineProvider({ ...parts, verify: signed, idIsSigned: true })().provider.idIsSigned).toBe(
    true,
  );
  const token = signature({ header: "x-token", algorithm: "token" });
  expect(defineProvider({ ...parts, verify: token })().provider.authenticatedOnly).toBe(true);
  expect(() => defineProvider({ ...parts, verify: token, idIsSigned: true })).toThrow(
    expect.objectContaining({ code: "invalid_config" }),
  );
});

test.each([
  ["a header that touches the body", { message: "{header:x-id}{body}" }],
  [
    "a header that touches a time in digits",
    { message: "{header:x-id}{ts}.{body}", time: { header: "x-t" } },
  ],
  ["no body", { message: "{ts}", time: { header: "x-t" } }],
  ["a time that is not signed", { time: { header: "x-t" } }],
  ["a URL that is not set", { message: "{url}{body}" }],
  ["a time without a place", { message: "{ts}{body}", time: {} }],
  ["an unknown word", { sep: "," }],
])("a signature whose message is %s is refused with the config", (_title, options) => {
  expect(() => signature({ header: "x-sig", ...options })).toThrow(
    expect.objectContaining({ code: "invalid_config" }),
  );
});

test("the JSON in a form, in base64, and in a list is that of the events", () => {
  const verified = signature({ header: "x-sig" });
  const parts = { name: "acme", verify: verified, id: "json:id", type: "json:type" } as const;
  const secret = "a-secret-of-acme";
  const ofForm = defineProvider({ ...parts, body: "form:events", each: "json:" })();
  const form = new URLSearchParams({ events: '[{"id":"a","type":"t"},{"id":"b","type":"u"}]' });
  expect(ofForm.provider.identify(deliveryOf({}, form.toString()))).toMatchObject({
    events: [
      { eventId: "a", type: "t", body: Buffer.from('{"id":"a","type":"t"}') },
      { eventId: "b", type: "u", body: Buffer.from('{"id":"b","type":"u"}') },
    ],
  });
  const inner = Buffer.from('{"n":1}');
  const push = JSON.stringify({ message: { id: "m1", data: inner.toString("base64") } });
  const ofPush = defineProvider({
    ...parts,
    id: "json:message.id",
    body: "base64:json:message.data",
  })();
  expect(ofPush.provider.identify(deliveryOf({}, push))).toMatchObject({
    code: "invalid_event_type",
  });
  const untyped = defineProvider({
    ...{ name: "acme", verify: verified, id: "json:message.id" },
    body: "base64:json:message.data",
  })();
  expect(untyped.provider.identify(deliveryOf({}, push))).toMatchObject({
    events: [{ eventId: "m1", type: "unknown", body: inner }],
  });
  const cut = push.replace("m1", "m2").replace("=", "");
  expect(untyped.provider.identify(deliveryOf({}, cut))).toMatchObject({ code: "invalid_body" });
  for (const source of [ofForm, untyped]) {
    expect(verdict(source, [secret], signedDelivery(source, { secret }))).toBe("ok");
  }
});

test("parts that are joined cannot take from each other", () => {
  const make = defineProvider({
    name: "acme",
    verify: signature({ header: "x-sig" }),
    id: "{json:a}|{header:x-b}",
    type: ["form:kind", "json:kind"],
  });
  const idOf = (a: string, b: string) =>
    make().provider.identify(deliveryOf({ "x-b": b }, JSON.stringify({ a, kind: "k" })));
  expect(idOf("1", "2")).toMatchObject({ events: [{ eventId: "1|2", type: "k" }] });
  expect(idOf("1|2", "3")).toMatchObject({ code: "invalid_event_id" });
});

test("a challenge never carries an event, and nothing is signed that could be one", () => {
  const make = defineProvider({
    name: "acme",
    verify: signature({ header: "x-sig" }),
    id: digest(),
    challenge: {
      method: "GET",
      answer: ({ read }, prove) => {
        const proof = prove(read("query:token") ?? "");
        return proof === undefined ? undefined : { body: { proof } };
      },
    },
  });
  const verifier = make().provider.createVerifier(["a-secret-of-acme"]);
  const ask = (token: string, body = "") =>
    verifier.verify({ ...deliveryOf({}, body), method: "GET", url: `/?token=${token}` });
  expect(ask("abc123")).toMatchObject({ ok: true, handshake: { status: 200 } });
  for (const token of ["", "123", "null", "%7B%7D", "a%3D1", "a.b", "x".repeat(300)]) {
    expect(ask(token, '{"id":"1"}')).toMatchObject({ ok: false, code: "invalid_signature" });
  }
  expect(make().provider.methods).toEqual(["POST", "GET"]);
});

test("WooCommerce's ping is answered, and with a signature it is a delivery", () => {
  const { provider } = woocommerce();
  const verifier = provider.createVerifier(["a-secret-of-the-shop"]);
  const post = (body: string, headers = {}) => verifier.verify(deliveryOf(headers, body));
  expect(post("webhook_id=12")).toMatchObject({ ok: true, handshake: { status: 200, body: "" } });
  for (const body of ["webhook_id=x", '{"id":1}', '{"id":1}&webhook_id=12']) {
    const answer = post(body);
    if (answer instanceof Promise || !answer.ok) expect(answer).toMatchObject({ ok: false });
    else expect(answer).toHaveProperty("handshake");
  }
  expect(post("webhook_id=12", { "x-wc-webhook-signature": "AAAA" })).toMatchObject({ ok: false });
});

test("a sender that signs its URL has that of publicUrl, or its own", () => {
  const secret = "0123456789abcdef";
  const own = "https://example.com/mine";
  const config = {
    publicUrl: "https://hooks.example.com",
    sources: { a: square(), b: square({ url: own }) },
  };
  const { a, b } = parseConfig(config).sources;
  const signed = signedDelivery(square({ url: "https://hooks.example.com/webhooks/a" }), {
    secret,
  });
  expect(a?.provider.createVerifier([secret]).verify(signed)).toMatchObject({ ok: true });
  expect(b?.provider.createVerifier([secret]).verify(signed)).toMatchObject({ ok: false });
  expect(b?.provider.signedUrl).toBe(own);
  expect(() => parseConfig({ sources: config.sources })).toThrow("sources.a.url: is missing");
  expect(() => parseConfig({ ...config, publicUrl: "hooks.example.com/" })).toThrow(
    "publicUrl: must",
  );
});

test("HTTP Basic has user and password as its secret", () => {
  const basic = signature({
    ...{ header: "authorization", algorithm: "token", prefix: "Basic ", encoding: "base64" },
  });
  const source = defineProvider({ name: "acme", verify: basic, id: "json:id" })();
  const written = `Basic ${Buffer.from("ada:a password").toString("base64")}`;
  const delivery = deliveryOf({ authorization: written }, '{"id":"1"}');
  expect(verdict(source, ["ada:a password"], delivery)).toBe("ok");
  expect(verdict(source, ["ada:another"], delivery)).toBe("invalid_signature");
});

test("a verifier can be made for another URL, and for another encoding of the secret", () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const make = (url: string, key: "utf8" | "hex") => {
    const verified = signature({ header: "x-sig", message: "{url}{body}", url, key });
    return defineProvider({ name: "acme", verify: verified, id: "json:id" })();
  };
  const url = "https://example.com/$&";
  const delivery = signedDelivery(make(url, "hex"), { secret });
  const { provider } = make("http://example.com/", "utf8");
  expect(provider.signedUrl).toBe("http://example.com/");
  const isGood = (options: Parameters<typeof provider.createVerifier>[1]) =>
    verifyNow(provider.createVerifier([secret], options), delivery).ok;
  expect(isGood({ url, key: "hex" })).toBe(true);
  for (const options of [{}, { url }, { key: "hex" as const }]) expect(isGood(options)).toBe(false);
});
