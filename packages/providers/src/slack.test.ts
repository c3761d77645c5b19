import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { slack } from "./index.ts";
import { deliveryOf, NOW_MS, verdict } from "./testing/sign-delivery.ts";

const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const { provider } = slack();

/** As verifySlackRequest of @slack/bolt 5.1.0 accepts it. */
function signed(body: string) {
  const ts = String(NOW_MS / 1_000);
  const digest = createHmac("sha256", SECRET).update(`v0:${ts}:${body}`).digest("hex");
  return deliveryOf({ "x-slack-signature": `v0=${digest}`, "x-slack-request-timestamp": ts }, body);
}

const COMMAND = "command=%2Fweather&text=94070&trigger_id=13345224609.738474920";
const interaction = (payload: object) => `payload=${encodeURIComponent(JSON.stringify(payload))}`;

test.each([
  ["a slash command", COMMAND, "/weather"],
  ["a button", interaction({ type: "block_actions", trigger_id: "1.2" }), "block_actions"],
])("%s is an event with the SHA-256 of its body as its id", (_title, body, type) => {
  const delivery = signed(body);
  expect(verdict(slack(), [SECRET], delivery)).toBe("ok");
  expect(verdict(slack(), [SECRET], { ...delivery, body: Buffer.from(`${body}1`) })).toBe(
    "invalid_signature",
  );
  const identified = provider.identify(delivery);
  expect(identified).toMatchObject({
    events: [{ eventId: expect.stringMatching(/^[0-9a-f]{64}$/), type }],
  });
  const other = provider.identify(signed(body.replace("1", "2")));
  expect(other).not.toEqual(identified);
});

test("what is shown to whoever typed a command is nothing", () => {
  expect(provider.answers?.accepted).toMatchObject({ status: 200, body: "" });
});

test.each(["a=1", "payload=no", "payload=%7B%7D", ""])("the form %j is no event", (body) => {
  expect(provider.identify(signed(body))).toMatchObject({ ok: false });
});
