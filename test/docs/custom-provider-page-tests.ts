/** Sends to the page's three senders, over HTTP, as they would send. */
export const CUSTOM_PROVIDER_PAGE_TESTS = `import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { exportJWK, SignJWT } from "jose";
import { openReceiver } from "millrace";
import { createTestEnvironment } from "millrace/testing";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import config from "./millrace.config.ts";

const secret = "whsec_" + Buffer.from("twenty-four bytes of key").toString("base64");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const elliptic = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

async function serve(handler: RequestListener) {
  const server = createServer(handler).unref();
  await once(server.listen(0, "127.0.0.1"), "listening");
  return "http://127.0.0.1:" + (server.address() as AddressInfo).port;
}

const environment = await createTestEnvironment(config, { directory: import.meta.dirname });
const receiver = await openReceiver(config, {
  DATABASE_URL: environment.databaseUrl,
  PARCEL_WEBHOOK_SECRET: secret,
  METER_WEBHOOK_SECRET: String(rsa.publicKey.export({ format: "pem", type: "spki" })),
});
const express = receiver.express();
const url = await serve((request, response) => express(request, response, () => response.end()));
const jwks = { keys: [{ ...(await exportJWK(elliptic.publicKey)), kid: "k1", alg: "ES256" }] };
const keys = await serve((_request, response) => response.end(JSON.stringify(jwks)));
const real = fetch;
beforeAll(() => {
  vi.stubGlobal("fetch", (to: string, init?: RequestInit) =>
    real(String(to).replace("https://keys.grid.example", keys), init),
  );
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await receiver.close();
  await environment.close();
});

const post = async (source: string, headers: Record<string, string>, body: string | Buffer) =>
  (await fetch(url + "/" + source, { method: "POST", headers, body: new Uint8Array(Buffer.from(body)) })).status;

test("the SDK verifies", async () => {
  const body = '{"type":"parcel.sent"}';
  const headers = {
    "webhook-id": "p1",
    "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
    "webhook-signature": new Webhook(secret).sign("p1", new Date(), body),
  };
  expect(await post("parcel", headers, body + " ")).toBe(401);
  expect(await post("parcel", { ...headers, "webhook-id": "p2" }, body)).toBe(401);
  expect(await post("parcel", {}, body)).toBe(401);
  expect([await post("parcel", headers, body), await post("parcel", headers, body)]).toEqual([202, 200]);
});

test("each reading of a list in gzip is one event, whichever list it comes in", async () => {
  const send = (readings: object[], { at = new Date(), signed = (body: Buffer) => body } = {}) => {
    const body = gzipSync(JSON.stringify({ readings }));
    const message = Buffer.concat([Buffer.from(at.toISOString() + "."), signed(body)]);
    const signature = sign("sha256", message, rsa.privateKey).toString("base64");
    const headers = { "x-meter-sign": signature, "x-meter-time": at.toISOString() };
    return post("meter", { ...headers, "content-encoding": "gzip" }, body);
  };
  const reading = (n: number) => ({ device: "d", at: "2026-01-01T00:00:0" + n + "Z", kind: "level", n });
  expect(await send([reading(1)], { at: new Date(Date.now() - 301_000) })).toBe(401);
  expect(await send([reading(1)], { signed: () => Buffer.from("{}") })).toBe(401);
  expect(await send([reading(1), { kind: "level" }])).toBe(400);
  expect(await send([reading(1), reading(2)])).toBe(202);
  expect(await send([reading(2)])).toBe(200);
  expect(await send([reading(3), reading(2)])).toBe(202);
  expect(await send([])).toBe(202);
});

test("a token by keys of a URL covers its body, and a GET gets its challenge", async () => {
  const body = '{"id":"g1","object":"line","action":"cut"}';
  const tokenFor = (aud: string) =>
    new SignJWT({ aud, body_sha256: createHash("sha256").update(body).digest("hex") })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .setIssuedAt()
      .sign(elliptic.privateKey);
  const authorization = "Bearer " + (await tokenFor("your-account"));
  expect(await post("grid", { authorization }, body + " ")).toBe(401);
  expect(await post("grid", { authorization: await tokenFor("another") }, body)).toBe(401);
  expect(await post("grid", { authorization }, body)).toBe(202);
  const asked = await fetch(url + "/grid?challenge=a-1");
  expect([asked.status, await asked.text()]).toEqual([200, "a-1"]);
  expect((await fetch(url + "/grid?challenge=%3Cp%3E%20")).status).toBe(401);
});
`;
