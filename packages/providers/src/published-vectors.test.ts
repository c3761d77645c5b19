import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { sendgrid, slack, square } from "./index.ts";
import { urlFormMessage } from "./signature/signed-url.ts";
import { deliveryOf, verdict } from "./testing/sign-delivery.ts";

// Vectors that senders publish. The SDKs of Slack, Square and Twilio are far larger than the code
// that signs, so their vectors stand for them.

test("the vector that Slack publishes is accepted, and no change of it", () => {
  const body =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
  const headers = {
    "X-Slack-Request-Timestamp": "1531420618",
    "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
  };
  const secrets = ["8f742231b10e8888abcd99yyyzzz85a5"];
  const at = 1_531_420_618_000;
  expect(verdict(slack(), secrets, deliveryOf(headers, body, at))).toBe("ok");
  expect(verdict(slack(), secrets, deliveryOf(headers, `${body}x`, at))).toBe("invalid_signature");
  const late = deliveryOf(headers, body, at + 301_000);
  expect(verdict(slack(), secrets, late)).toBe("invalid_timestamp");
});

test("the vector of Square's SDKs is accepted, and at no other URL", () => {
  const url = "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9";
  const body =
    '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}';
  const delivery = deliveryOf(
    { "x-square-hmacsha256-signature": "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=" },
    body,
  );
  const secrets = ["Ibxx_5AKakO-3qeNVR61Dw"];
  expect(verdict(square({ url }), secrets, delivery)).toBe("ok");
  expect(verdict(square({ url: `${url}/` }), secrets, delivery)).toBe("invalid_signature");
  expect(square({ url }).provider.identify(delivery)).toMatchObject({
    events: [
      { eventId: "ac3ac95b-f97d-458c-a6e6-18981597e05f", type: "webhooks.test_notification" },
    ],
  });
});

test("the vector that Twilio publishes is what is signed, with the query that it was called with", () => {
  const fields = new URLSearchParams({
    Digits: "1234",
    To: "+18005551212",
    From: "+14158675309",
    CallSid: "CA1234567890ABCDE",
    Caller: "+14158675309",
  });
  const body = Buffer.from(fields.toString());
  const delivery = { url: "/webhooks/twilio?foo=1&bar=2", body };
  const messages = urlFormMessage(delivery, "https://mycompany.com/myapp.php");
  // Its token, 12345, is shorter than any that a source may have.
  const signatures = messages.map((message) => {
    const hmac = createHmac("sha1", "12345");
    for (const piece of message) hmac.update(piece);
    return hmac.digest("base64");
  });
  expect(signatures).toContain("RSOYDt4T1cUTdK1PDd93/VVr8B8=");
});

test("the vectors of SendGrid's SDK are accepted, trailing line end and all", () => {
  const key =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
  const body = `${JSON.stringify([
    {
      email: "hello@world.com",
      event: "dropped",
      reason: "Bounced Address",
      sg_event_id: "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
      sg_message_id: "LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",
      "smtp-id": "<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",
      timestamp: 1600112492,
    },
  ])}\r\n`;
  const headers = {
    "X-Twilio-Email-Event-Webhook-Signature":
      "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
    "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
  };
  const at = 1_600_112_502_000;
  expect(verdict(sendgrid(), [key], deliveryOf(headers, body, at))).toBe("ok");
  expect(verdict(sendgrid(), [key], deliveryOf(headers, body.trim(), at))).toBe(
    "invalid_signature",
  );
});
