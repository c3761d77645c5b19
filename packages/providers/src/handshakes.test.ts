import { createHmac } from "node:crypto";
import type { Delivery, SourceDefinition } from "@millrace/core";
import { expect, test } from "vitest";
import { discord, mandrill, meta, slack, xero, zoom } from "./index.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict, verifyNow } from "./testing/sign-delivery.ts";

/** The answer of a handshake, or what the delivery is instead. */
function answerOf(source: SourceDefinition, delivery: Delivery, secret: string): unknown {
  const verified = verifyNow(source.provider.createVerifier([secret]), delivery);
  if (!verified.ok) return verified.code;
  if (verified.handshake !== undefined) return verified.handshake;
  const found = source.provider.identify(delivery);
  return found.ok ? "events" : found.code;
}

/** The same for a body that the provider signs. */
function answerTo(source: SourceDefinition, body: string): unknown {
  const secret = source.provider.generateSecret();
  return answerOf(source, signedDelivery(source, { secret, body }), secret);
}

test("Slack's url_verification is answered with its challenge, as plain text", () => {
  const body = '{"type":"url_verification","token":"t","challenge":"3eZbrw1aBm2r"}';
  expect(answerTo(slack(), body)).toEqual({
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: "3eZbrw1aBm2r",
  });
});

test.each([
  ["none", "{}"],
  ["a number of spaces", '{"challenge":"a b"}'],
  ["a line's end", '{"challenge":"a\\r\\nset-cookie: x"}'],
  ["an object", '{"challenge":{}}'],
  ["two thousand characters", `{"challenge":"${"x".repeat(2_000)}"}`],
])("a challenge that is %s is not echoed", (_title, rest) => {
  const body = JSON.stringify({ type: "url_verification", ...JSON.parse(rest) });
  expect(answerTo(slack(), body)).toBe("invalid_body");
});

test("Slack's notice of a rate limit, which has no id, is an event", () => {
  const body =
    '{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":1518467820,"api_app_id":"A1"}';
  expect(slack().provider.identify(deliveryOf({}, body))).toMatchObject({
    events: [{ type: "app_rate_limited", eventId: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  });
});

test("Mandrill's HEAD is answered, and Xero's list without events, if its signature is right", () => {
  const source = mandrill({ url: "https://hooks.example.com/webhooks/a" });
  const head = { ...deliveryOf({}, ""), method: "HEAD" };
  expect(source.provider.methods).toEqual(["POST", "HEAD"]);
  expect(answerOf(source, head, "a-key-of-mandrill")).toMatchObject({ status: 200, body: "" });
  expect(answerTo(xero(), '{"events":[],"entropy":"x"}')).toBe("events");
  expect(xero().provider.answers?.accepted).toMatchObject({ status: 200, body: "" });
});

test("Discord's two PINGs are told apart, and a webhook event is none", () => {
  const answer = (body: string) => answerTo(discord(), body);
  expect(answer('{"type":1,"id":"1"}')).toMatchObject({ status: 200, body: '{"type":1}' });
  expect(answer('{"type":0,"application_id":"1"}')).toMatchObject({ status: 204, body: "" });
  expect(answer('{"type":1,"event":{"type":"QUEST_USER_ENROLLMENT"}}')).toBe("events");
  // One with a bad signature gets 401, which Discord tries.
  const secret = discord().provider.generateSecret();
  const ping = signedDelivery(discord(), { secret, body: '{"type":1}' });
  const forged = { ...ping, body: Buffer.from('{"type": 1}') };
  expect(verdict(discord(), [secret], forged)).toBe("invalid_signature");
});

test.each([
  [2, { type: 5 }, "APPLICATION_COMMAND"],
  [3, { type: 6 }, "MESSAGE_COMPONENT"],
  [4, { type: 8, data: { choices: [] } }, "APPLICATION_COMMAND_AUTOCOMPLETE"],
  [5, { type: 5 }, "MODAL_SUBMIT"],
])(
  "Discord's interaction %i is answered with what leaves the rest to a handler",
  (type, answer, name) => {
    const found = discord().provider.identify(deliveryOf({}, JSON.stringify({ type, id: "77" })));
    expect(found).toEqual({
      ok: true,
      events: [{ eventId: "77", type: name }],
      answer: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(answer),
      },
    });
  },
);

test("a webhook event of Discord's is answered 204", () => {
  const secret = discord().provider.generateSecret();
  const delivery = signedDelivery(discord(), { secret, type: "ENTITLEMENT_CREATE" });
  expect(discord().provider.identify(delivery)).toMatchObject({
    answer: { status: 204, body: "" },
  });
});

const META = meta();
const APP_SECRET = `a token of ours:${META.provider.generateSecret().slice(17)}`;

function subscribe(query: string): Delivery {
  return { ...deliveryOf({}, ""), method: "GET", url: `/webhooks/meta${query}` };
}

test("Meta's GET with the verify token is answered with its challenge, and is no event", () => {
  const url = "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=a+token%20of+ours";
  expect(verdict(META, [APP_SECRET], subscribe(url))).toBe("ok");
  expect(answerOf(META, subscribe(url), APP_SECRET)).toMatchObject({
    status: 200,
    body: "1158201444",
  });
});

test.each([
  ["no query", ""],
  ["another token", "?hub.mode=subscribe&hub.challenge=1&hub.verify_token=another"],
  ["an empty token", "?hub.mode=subscribe&hub.challenge=1&hub.verify_token="],
  ["no token", "?hub.mode=subscribe&hub.challenge=1"],
  [
    "the token twice",
    "?hub.mode=subscribe&hub.challenge=1&hub.verify_token=a%20token%20of%20ours&hub.verify_token=x",
  ],
])("Meta's GET with %s is refused", (_title, query) => {
  expect(verdict(META, [APP_SECRET], subscribe(query))).toBe("invalid_signature");
});

test.each([
  ["another mode", "?hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=a+token+of+ours"],
  ["no challenge", "?hub.mode=subscribe&hub.verify_token=a+token+of+ours"],
  ["markup", "?hub.mode=subscribe&hub.challenge=%3Cb%3E%20&hub.verify_token=a+token+of+ours"],
])("Meta's GET with the token and %s is no handshake", (_title, query) => {
  expect(answerOf(META, subscribe(query), APP_SECRET)).toBe("invalid_body");
});

test("Meta's secret without its verify token is refused, and never shown", () => {
  const make = () => META.provider.createVerifier(["0123456789abcdef"]);
  expect(make).toThrow(/a secret must be <key>:<secret>/);
  expect(make).not.toThrow("0123456789abcdef");
});

test("the verify token opens no way for a POST", () => {
  const query = "?hub.mode=subscribe&hub.challenge=1&hub.verify_token=a+token+of+ours";
  const post = { ...subscribe(query), method: "POST", body: Buffer.from("{}") };
  expect(verdict(META, [APP_SECRET], post)).toBe("invalid_signature");
});

test("Zoom's url_validation is answered with proof by the very key that signed it", () => {
  const [old, fresh] = [zoom().provider.generateSecret(), zoom().provider.generateSecret()];
  const body =
    '{"event":"endpoint.url_validation","event_ts":1,"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}';
  for (const secret of [old, fresh]) {
    const verification = zoom()
      .provider.createVerifier([old, fresh])
      .verify(signedDelivery(zoom(), { secret, body }));
    const encryptedToken = createHmac("sha256", secret)
      .update("qgg8vlvZRS6UYooatFL8Aw")
      .digest("hex");
    expect(verification).toEqual({
      ok: true,
      handshake: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ plainToken: "qgg8vlvZRS6UYooatFL8Aw", encryptedToken }),
      },
    });
  }
  const unsigned = deliveryOf({ "x-zm-request-timestamp": String(NOW_MS / 1_000) }, body);
  expect(verdict(zoom(), [old], unsigned)).toBe("invalid_signature");
});

test("nothing that could be a delivery's message is signed for Zoom", () => {
  const secret = zoom().provider.generateSecret();
  const verifier = zoom().provider.createVerifier([secret]);
  for (const plainToken of ["v0:1767225600:{}", "", "a b", "x".repeat(257)]) {
    const body = JSON.stringify({ event: "endpoint.url_validation", payload: { plainToken } });
    const verified = verifier.verify(signedDelivery(zoom(), { secret, body }));
    expect(verified).toMatchObject({ ok: true });
    expect(verified).not.toHaveProperty("handshake");
  }
});
