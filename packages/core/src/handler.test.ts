import { expect, test } from "vitest";
import { on } from "./handler.ts";

test("a set-based handler takes one event as a set of one", async () => {
  const seen: unknown[] = [];
  const handler = on("shop", ["a", "b"], { batch: 100 }, (events) => void seen.push(events));
  expect(handler).toMatchObject({ sources: ["shop"], types: ["a", "b"], set: { max: 100 } });
  await handler.write?.({ id: "evt_1" } as never, {} as never, undefined);
  expect(seen).toEqual([[{ id: "evt_1" }]]);
  expect(on("shop", "a", () => {}).set).toBeUndefined();
});

test.each([1, 501, 2.5, Number.NaN])("a set of %s events is refused, with the bounds", (batch) => {
  expect(() => on("shop", "a", { batch }, () => {})).toThrow(
    `Cannot bind a handler to shop: batch is ${batch}, and must be 2 to 500`,
  );
});

test("a set-based handler without a function is refused", () => {
  expect(() => on("shop", "a", { batch: 2 }, undefined as never)).toThrow(
    "Cannot bind a handler to shop: it is not a function",
  );
});
