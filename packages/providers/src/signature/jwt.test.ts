import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type JWK } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { defineProvider, googlePubsub, jwt, type JwtOptions } from "../index.ts";
import { deliveryOf, NOW_MS } from "../testing/sign-delivery.ts";

const BODY = '{"id":"e1"}';
const SECRET = "a secret of thirty-two bytes and more";
const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
const other = await generateKeyPair("RS256");
const CLAIMS = { aud: "ours", iss: "sender", email: "push@example.com" };

function token(over: object = {}, { key = privateKey, kid = "k1", alg = "RS256" } = {}) {
  const now = NOW_MS / 1_000;
  const payload = { ...CLAIMS, iat: now, exp: now + 60, ...over };
  return new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(key);
}

/** A server with the sender's keys, and how often they were asked for. */
async function serveKeys(answer?: RequestListener) {
  const keys: JWK[] = [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "RS256" }];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (answer !== undefined) answer(request, response);
    else response.end(JSON.stringify({ keys }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/keys`, asked };
}

function verdicts(options: JwtOptions, secret = "") {
  const make = defineProvider({ name: "acme", verify: jwt(options), id: "json:id" });
  const verifier = make().provider.createVerifier([secret]);
  return async (value: string, body = BODY) => {
    const delivery = deliveryOf({ authorization: `Bearer ${value}` }, body);
    const early = verifier.precheck?.(delivery, 0);
    const verified = await verifier.verify(delivery);
    if (early !== undefined) expect(verified).toEqual(early);
    return verified.ok ? "ok" : verified.code;
  };
}

const byKeys = (keys: string, over: Partial<JwtOptions> = {}) =>
  verdicts({ algorithm: "RS256", keys, audience: "ours", issuer: "sender", ...over });

test("a token is accepted by a key of the URL, and refused for whatever else it says", async () => {
  const { url, asked } = await serveKeys();
  const verify = byKeys(url, { claims: { email: "push@example.com" } });
  expect(await verify(await token())).toBe("ok");
  const now = NOW_MS / 1_000;
  for (const [over, code] of [
    [{ aud: "another" }, "invalid_signature"],
    [{ aud: undefined }, "invalid_signature"],
    [{ iss: "another" }, "invalid_signature"],
    [{ email: "eve@example.com" }, "invalid_signature"],
    [{ email: undefined }, "invalid_signature"],
    [{ exp: now - 301 }, "invalid_timestamp"],
    [{ nbf: now + 301 }, "invalid_timestamp"],
    [{ exp: undefined, iat: now - 301 }, "invalid_timestamp"],
    [{ exp: undefined, iat: undefined }, "invalid_timestamp"],
    [{ exp: undefined }, "ok"],
  ] as const) {
    expect([over, await verify(await token(over))]).toEqual([over, code]);
  }
  expect(await verify(await token({}, { key: other.privateKey }))).toBe("invalid_signature");
  expect(asked).toEqual(["/keys"]);
});

test("no algorithm but the provider's counts: none, or an HMAC by the public key", async () => {
  const { url } = await serveKeys();
  const verify = byKeys(url);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = encode({ ...CLAIMS, exp: NOW_MS / 1_000 + 60 });
  for (const alg of ["none", "None", "HS256"]) {
    expect(await verify(`${encode({ alg, kid: "k1" })}.${claims}.`)).toBe("invalid_signature");
  }
  const pem = await exportSPKI(publicKey);
  const forged = new SignJWT({ ...CLAIMS }).setProtectedHeader({ alg: "HS256", kid: "k1" });
  expect(await verify(await forged.sign(Buffer.from(pem)))).toBe("invalid_signature");
  expect(() => verdicts({ algorithm: "HS256" }, pem)).toThrow(/and no public key/);
  const good = await token();
  for (const odd of ["", "a", "a.b", "a.b.c", `${good}.`, good.slice(0, -2), "[object Object]"]) {
    expect([odd, await verify(odd)]).toEqual([odd, "invalid_signature"]);
  }
});

test("two hundred unknown key ids cost one fetch, and none after it", async () => {
  const { url, asked } = await serveKeys();
  const verify = byKeys(url);
  const tokens = Array.from({ length: 200 }, (_, n) => token({}, { kid: `unknown-${n}` }));
  for (const one of tokens) expect(await verify(await one)).toBe("invalid_signature");
  expect(await verify(await token())).toBe("ok");
  expect(asked).toHaveLength(1);
});

test("keys that are away, elsewhere, or no keys refuse nothing for good", async () => {
  const elsewhere = await serveKeys();
  for (const answer of [
    (_request, response) => response.writeHead(503).end(),
    (_request, response) => response.writeHead(302, { location: elsewhere.url }).end(),
    (_request, response) => response.end("<html>"),
    (_request, response) => response.end('{"keys":5}'),
    (request) => request.socket.destroy(),
    () => {},
  ] satisfies RequestListener[]) {
    const { url } = await serveKeys(answer);
    expect(await byKeys(url)(await token())).toBe("unavailable");
  }
  expect(elsewhere.asked).toEqual([]);
});

test("with bodyHash a token covers the body, and with a secret it is an HMAC", async () => {
  const verify = verdicts({ algorithm: "HS256", bodyHash: "payload_hash" }, SECRET);
  const sign = (hash: unknown, secret = SECRET) =>
    new SignJWT({ iat: NOW_MS / 1_000, ...(hash !== undefined && { payload_hash: hash }) })
      .setProtectedHeader({ alg: "HS256" })
      .sign(Buffer.from(secret));
  const hash = createHash("sha256").update(BODY).digest("hex");
  expect(await verify(await sign(hash))).toBe("ok");
  expect(await verify(await sign(hash), `${BODY} `)).toBe("invalid_signature");
  expect(await verify(await sign(undefined), "undefined")).toBe("invalid_signature");
  expect(await verify(await sign(hash, `${SECRET}.`))).toBe("invalid_signature");
  const covered = jwt({ algorithm: "HS256", bodyHash: "payload_hash" });
  expect([covered.coversBody, jwt({ algorithm: "HS256" }).coversBody]).toEqual([true, false]);
});

test("without keys the secret is the sender's public key, and no other kind of key", async () => {
  const pem = await exportSPKI(publicKey);
  const pair = await generateKeyPair("ES256");
  const hash = createHash("sha256").update(BODY).digest("base64url");
  const signed = await token({ hash });
  expect(await verdicts({ algorithm: "RS256", bodyHash: "hash" }, pem)(signed)).toBe("ok");
  const elliptic = verdicts({ algorithm: "ES256" }, await exportSPKI(pair.publicKey));
  expect(await elliptic(signed)).toBe("invalid_signature");
  expect(await elliptic(await token({}, { key: pair.privateKey, alg: "ES256" }))).toBe("ok");
  expect(() => verdicts({ algorithm: "ES256" }, pem)).toThrow(/secret is malformed/);
});

test.each([
  ["http", { algorithm: "RS256", keys: "http://keys.example/", audience: "a" }, /keys: must be/],
  ["a host by a user", { algorithm: "RS256", keys: "https://a@b/", audience: "a" }, /keys: must/],
  ["a shared key with keys", { algorithm: "HS256", keys: "https://a/", audience: "a" }, /keys:/],
  ["no audience", { algorithm: "RS256", keys: "https://a.example/" }, /audience: must be set/],
  ["none", { algorithm: "none" }, /algorithm: must be one of/],
])("jwt() refuses %s", (_title, options, message) => {
  expect(() => jwt(options as JwtOptions)).toThrow(message);
});

test("a push subscription needs no secret, and is authenticated only", () => {
  const { provider } = googlePubsub({ audience: "a", serviceAccount: "push@example.com" });
  expect(provider).toMatchObject({ needsSecret: false, authenticatedOnly: true });
  const body = '{"message":{"messageId":"7","attributes":{"eventType":"OBJECT_FINALIZE"}}}';
  expect(provider.identify(deliveryOf({}, body))).toMatchObject({
    events: [{ eventId: "7", type: "OBJECT_FINALIZE" }],
  });
});
