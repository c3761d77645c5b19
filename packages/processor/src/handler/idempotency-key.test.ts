import { expect, test } from "vitest";
import { eventIdempotencyKey, stepIdempotencyKey } from "./idempotency-key.ts";

const key = (eventId: string, generation = 0) =>
  eventIdempotencyKey({ source: "shop", eventId, generation });

test("a key is the source, the id, and the generation of an event", () => {
  expect(key("evt_1")).toBe("shop.evt_1.0");
  expect(key("evt_1", 2)).toBe("shop.evt_1.2");
  expect(stepIdempotencyKey(key("evt_1"), "refund")).toBe("shop.evt_1.0.refund");
});

test("a key that is too long, or no header takes, is hashed, and stays its event's own", () => {
  const long = "x".repeat(200 - "shop..0".length);
  expect(key(long)).toHaveLength(200);
  const ids = [`${long}x`, `${long}y`, "with space", "umläut", "line\nbreak", "1|2|ü"];
  const hashed = ids.map((id) => key(id));
  for (const one of hashed) expect(one).toMatch(/^[\w-]{43}$/);
  expect(new Set(hashed).size).toBe(ids.length);
  expect(key("a|orders/paid|1")).toBe("shop.a|orders/paid|1.0");
});

test("dots and escapes in a part do not make it another's", () => {
  expect(key("shop.example")).toBe("shop.shop%2Eexample.0");
  const keys = [
    stepIdempotencyKey(key("a"), "0.refund"),
    stepIdempotencyKey(key("a.0"), "refund"),
    stepIdempotencyKey(key("a"), "0%2Erefund"),
    key("a.0"),
    stepIdempotencyKey(key("a"), "0"),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test("the key of a step is bounded in the same way", () => {
  const [one, other] = [
    stepIdempotencyKey(key("evt_1"), "mail ü"),
    stepIdempotencyKey(key("evt_1"), "mail ö"),
  ];
  expect(one).toMatch(/^[\w-]{43}$/);
  expect(one).not.toBe(other);
  expect(stepIdempotencyKey("k".repeat(195), "refund")).toHaveLength(43);
  expect(stepIdempotencyKey("k".repeat(193), "refund")).toHaveLength(200);
});
