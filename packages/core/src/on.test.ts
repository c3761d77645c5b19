import { expect, test } from "vitest";
import { on } from "./on.ts";

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

test.each<[string, () => unknown, RegExp]>([
  [
    "none",
    () => Reflect.apply(on, undefined, ["shop", "a"]),
    /there is none. Write on\("shop", "a", async/,
  ],
  [
    "a part that there is not",
    () => on("shop", "a", { handle: () => {} } as never),
    /no part "handle"/,
  ],
  [
    "a misspelt part",
    () => on("shop", "a", { wirte: () => {} } as never),
    /did you mean "write"\?/,
  ],
  [
    "a part beside batch",
    () => on("shop", "a", { batch: 2, when: () => false } as never, () => {}),
    /no part "when". Parts are batch/,
  ],
  ["no part", () => on("shop", "a", {}), /neither call nor write/],
])("a handler with %s is refused by what to write", (_what, bind, words) => {
  expect(bind).toThrow(words);
});
