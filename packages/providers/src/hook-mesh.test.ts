import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { hookMesh } from "./index.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const { provider } = hookMesh();

test("a body without an envelope, as Hook Mesh's page on signatures shows, is an event", () => {
  const body = '{"user_id": "usr_123", "email": "alice@example.com"}';
  const delivery = signedDelivery(hookMesh(), { secret: SECRET, eventId: "job_5nM8", body });
  expect(verdict(hookMesh(), [SECRET], delivery)).toBe("ok");
  expect(provider.identify(delivery)).toEqual({
    ok: true,
    events: [{ eventId: "job_5nM8", type: "unknown" }],
  });
});

test("the body's event_id goes before the header, which names one job of many", () => {
  const body = '{"event_id":"evt_1","event_type":"user.created","payload":{}}';
  const delivery = signedDelivery(hookMesh(), { secret: SECRET, eventId: "job_2", body });
  expect(provider.identify(delivery)).toMatchObject({ events: [{ eventId: "evt_1" }] });
});

test.each([
  ["with a dot", "a.b"],
  ["of dots alone", ".."],
  ["beyond latin1", "ünï\u{1f600}"],
  ["with a line break", "line\nbreak"],
  ["of 1,000 characters", "x".repeat(1_000)],
])("an event_id %s is signed and accepted, though no webhook-id could be it", (_title, eventId) => {
  const delivery = signedDelivery(hookMesh(), { secret: SECRET, eventId });
  expect(verdict(hookMesh(), [SECRET], delivery)).toBe("ok");
  expect(provider.identify(delivery)).toMatchObject({ events: [{ eventId }] });
});

test("what was signed in one form is no event in the other", () => {
  const good = signedDelivery(hookMesh(), { secret: SECRET });
  const {
    "webhook-id": id,
    "webhook-timestamp": ts,
    "webhook-signature": list = "",
  } = good.headers;
  const hex = Buffer.from(list.slice("v1,".length), "base64").toString("hex");
  const crossed = deliveryOf(
    { "x-hookmesh-signature": hex },
    Buffer.concat([Buffer.from(`${id}.${ts}.`), good.body]),
  );
  expect(verdict(hookMesh(), [SECRET], crossed)).toBe("ok");
  expect(provider.identify(crossed)).toMatchObject({ code: "invalid_body" });
});

test("a delivery with both forms' headers is held to the one that signs a time", () => {
  const body = '{"event_id":"evt_1","event_type":"t"}';
  const hex = createHmac("sha256", Buffer.alloc(32, 7)).update(body).digest("hex");
  const headers = { "x-hookmesh-signature": hex, "webhook-signature": "v1,bad" };
  expect(verdict(hookMesh(), [SECRET], deliveryOf(headers, body))).toBe("invalid_signature");
});

test.each(["utf8", "hex", "base64"] as const)("a secret that is made for key %s works", (key) => {
  const source = hookMesh({ key });
  const secret = source.provider.generateSecret();
  expect(verdict(source, [secret], signedDelivery(source, { secret }))).toBe("ok");
});

test("its own options are not taken for the source's policy", () => {
  expect(hookMesh({ key: "hex", attempts: 5 }).options).toEqual({ attempts: 5 });
});

test("it is answered 200 whether the event is new or not", () => {
  expect(provider.answers?.accepted).toMatchObject({ status: 200, body: '{"status":"accepted"}' });
  expect(provider.answers?.duplicate).toMatchObject({
    status: 200,
    body: '{"status":"duplicate"}',
  });
});

test("a delivery in the form without a time is taken however old its body's timestamp is", () => {
  const body = '{"event_id":"e","event_type":"t","timestamp":"2020-01-01T00:00:00Z","payload":{}}';
  const hex = createHmac("sha256", Buffer.alloc(32, 7)).update(body).digest("hex");
  const delivery = deliveryOf({ "x-hookmesh-signature": hex }, body, NOW_MS);
  expect(verdict(hookMesh(), [SECRET], delivery)).toBe("ok");
});
