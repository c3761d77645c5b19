import { isPermanentError } from "@millrace/core";
import { expect, test } from "vitest";
import { makeJob } from "./testing/make-job.ts";
import { createWebhookEvent } from "./run-handlers.ts";

function eventOf(body: string | Uint8Array) {
  const { event } = makeJob();
  return createWebhookEvent(event, 2, {
    headers: { "x-a": "1" },
    body: Buffer.from(body),
    suspectedReplay: false,
  });
}

test("the payload is parsed on first use, once", () => {
  const event = eventOf('{"a":[1]}');
  expect(event.payload).toEqual({ a: [1] });
  expect(event.payload).toBe(event.payload);
  expect(eventOf("null").payload).toBeNull();
  expect(eventOf('"\\u0000\\ud800"').payload).toBe("\u0000\ud800");
});

test("the payload of a form is its field of that name, as GitHub and Slack send it", () => {
  const form = (fields: Record<string, string>) =>
    eventOf(new URLSearchParams(fields).toString()).payload;
  const sent = { action: "opened", title: "100% + a & b = ü" };
  expect(form({ payload: JSON.stringify(sent) })).toEqual(sent);
  expect(form({ token: "t", payload: "[1]" })).toEqual([1]);
  // What is JSON is read as JSON, whatever it holds.
  expect(eventOf('"payload=[1]"').payload).toBe("payload=[1]");
});

test.each([["payload=%7B"], ["payload=[1]&payload=[2]"], ["a=[1]"], ["payload=%ff"]])(
  "a form without one JSON payload fails for good: %s",
  (body) => {
    expect(() => eventOf(body).payload).toThrow(/not JSON/);
  },
);

test.each([["<xml/>"], [""], [Buffer.from([0x22, 0xff, 0x22])]])(
  "a body that is not JSON in UTF-8 fails for good, and is not quoted (%o)",
  (body) => {
    const event = eventOf(body);
    let thrown: unknown;
    try {
      void event.payload;
    } catch (error) {
      thrown = error;
    }
    expect(isPermanentError(thrown)).toBe(true);
    expect(String(thrown)).not.toContain("xml");
    expect(event.body).toEqual(Buffer.from(body));
  },
);

test("handlers that share an event cannot change it for one another", () => {
  const event = eventOf("{}");
  expect(() => Object.assign(event, { id: "other" })).toThrow(TypeError);
  expect(() => Object.assign(event.headers, { "x-a": "2" })).toThrow(TypeError);
});
