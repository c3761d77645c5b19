import { isPermanentError, on, RetryLater, type Handler } from "@millrace/core";
import { expect, test } from "vitest";
import { makeJob } from "../testing/make-job.ts";
import { Handlers } from "./run-handlers.ts";

function eventOf(body: string | Uint8Array, dataField?: string) {
  const { event } = makeJob();
  const provider = { dataField } as never;
  const handlers = new Handlers([], { [event.source]: { provider } });
  return handlers.eventOf(event, 2, { headers: { "x-a": "1" }, body: Buffer.from(body) });
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
  // JSON is read as JSON, whatever its content-type is.
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

test("data is the field in which the sender wraps it, and the payload where there is none", () => {
  const wrapped = eventOf('{"id":"evt_1","data":{"a":1}}', "data");
  expect(wrapped.data).toEqual({ a: 1 });
  expect(wrapped.data).toBe(wrapped.payload.data);
  expect(eventOf('{"data":null}', "data").data).toBeNull();
  expect(eventOf('{"data":{"a":1}}').data).toEqual({ data: { a: 1 } });
  expect(eventOf('{"a":1}', "data").data).toEqual({ a: 1 });
  expect(eventOf("null", "data").data).toBeNull();
  expect(eventOf('"data"', "data").data).toBe("data");
  expect(() => eventOf("<xml/>", "data").data).toThrow(/not JSON/);
});

test("handlers that share an event cannot change it for one another", () => {
  const event = eventOf("{}");
  expect(() => Object.assign(event, { id: "other" })).toThrow(TypeError);
  expect(() => Object.assign(event.headers, { "x-a": "2" })).toThrow(TypeError);
});

type Names = string | string[];

/** The handlers that an event goes to, by their numbers in the list. */
async function heardBy(
  list: readonly [sources: Names, types: Names][],
  [source, type]: readonly [source: string, type: string],
): Promise<number[]> {
  const heard: number[] = [];
  const handlers = list.map(([sources, types], index): Handler =>
    on(sources, types, () => void heard.push(index)),
  );
  const { event } = makeJob();
  const locked = { headers: {}, body: Buffer.from("{}"), suspectedReplay: false };
  const context = { signal: new AbortController().signal } as never;
  const outcome = await new Handlers(handlers, {}).run({ ...event, source, type }, 1, {
    locked,
    context,
  });
  expect(outcome).toBe(heard.length === 0 ? "ignored" : "handled");
  return heard;
}

test.each([
  ["payment.paid", [0, 2, 3, 4]],
  ["payment.", [0, 2, 3]],
  ["payment", [3, 5]],
  ["payments.paid", [3]],
  ["my.payment.paid", [3]],
  ["payment.*", [0, 2, 3]],
  ["Payment.paid", [3]],
])("a * at the end of a type stands for any text: %s", async (type, heard) => {
  const handlers: [Names, Names][] = [
    ["shop", "payment.*"],
    ["bank", "payment.*"],
    ["shop", ["refund.*", "payment.*"]],
    ["shop", "*"],
    ["shop", "payment.paid"],
    ["shop", "payment"],
  ];
  expect(await heardBy(handlers, ["shop", type])).toEqual(heard);
});

test("a handler hears each source of its list, and `*` every one", async () => {
  const handlers: [Names, Names][] = [
    [["shop", "bank"], "a"],
    ["shop", "a"],
    ["*", "a"],
    [["mill", "*"], "a"],
  ];
  expect(await heardBy(handlers, ["shop", "a"])).toEqual([0, 1, 2, 3]);
  expect(await heardBy(handlers, ["bank", "a"])).toEqual([0, 2, 3]);
  expect(await heardBy(handlers, ["mint", "a"])).toEqual([2, 3]);
  // A name is no pattern.
  expect(await heardBy([["sh*", "a"]], ["shop", "a"])).toEqual([]);
});

test("a value's text keeps its digits, and an error that a handler returns fails the event", async () => {
  const event = eventOf('{"id":820982911946154508123,"price":1.10}');
  expect([event.text("id"), event.text("price"), event.text("none")]).toEqual([
    "820982911946154508123",
    "1.10",
    undefined,
  ]);
  expect(() => eventOf("<xml/>").text("id")).toThrow(/not JSON/);
  const job = makeJob();
  const slip = on(job.event.source, "*", () => new RetryLater({ afterMs: 1_000 }) as never);
  const handlers = new Handlers([slip], {});
  const input = { locked: { headers: {}, body: Buffer.from("{}") }, context: {} as never };
  await expect(handlers.run(job.event, 1, input)).rejects.toThrow(
    "returned a RetryLater. Write throw",
  );
});
