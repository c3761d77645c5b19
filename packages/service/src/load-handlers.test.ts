import { on, type Config } from "@millrace/core";
import { expect, test } from "vitest";
import { loadHandlers } from "./load-handlers.ts";

const load = (handlers: unknown[]) =>
  loadHandlers({ sources: { shop: {}, bank: {} }, handlers } as unknown as Config);

const ordinary = (type: string | string[], source = "shop") => on(source, type, () => {});
const setBased = (type: string | string[], source = "shop") =>
  on(source, type, { batch: 10 }, () => {});

test("handlers of which no event gets a set-based one and another are loaded", async () => {
  const handlers = [ordinary("a"), ordinary("*", "bank"), setBased("b"), setBased(["c", "d"])];
  expect(await load(handlers)).toEqual(handlers);
  expect(await load([ordinary("a"), ordinary("a")])).toHaveLength(2);
});

test.each([
  ["the same type", [ordinary("a"), setBased("a")], 'on("shop", "a") and on("shop", "a")'],
  ["a list", [setBased(["a", "b"]), ordinary("b")], 'on("shop", "a", "b") and on("shop", "b")'],
  ["every type", [ordinary("*"), setBased("b")], 'on("shop", "*") and on("shop", "b")'],
  ["two sets", [setBased("a"), setBased("*")], 'on("shop", "a") and on("shop", "*")'],
])("a set-based handler beside another one is refused, by %s", async (_, handlers, pair) => {
  await expect(load(handlers)).rejects.toMatchObject({
    code: "invalid_config",
    message: `Cannot use the handlers: an event may have one set-based handler, or ordinary ones:\n  ${pair}`,
  });
});

test("a handler of a source that is not configured is refused", async () => {
  await expect(load([ordinary("a", "other")])).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining('on("other", "a")'),
  });
});
