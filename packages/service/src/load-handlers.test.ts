import { on, type Config } from "@millrace/core";
import { expect, test } from "vitest";
import { loadHandlers } from "./load-handlers.ts";

const load = (handlers: unknown[]) =>
  loadHandlers({
    sources: {
      shop: { provider: {} },
      bank: { provider: {} },
      mail: { provider: { isInternal: true } },
    },
    handlers,
  } as unknown as Config);

type Names = string | string[];
const ordinary = (type: Names, source: Names = "shop") => on(source, type, () => {});
const setBased = (type: Names, source: Names = "shop") => on(source, type, { batch: 10 }, () => {});

test("handlers of which no event gets a set-based one and another are loaded", async () => {
  const handlers = [ordinary("a"), ordinary("*", "bank"), setBased("b"), setBased(["c", "d"])];
  expect(await load(handlers)).toEqual(handlers);
  expect(await load([ordinary("a"), ordinary("a")])).toHaveLength(2);
  const apart = [setBased("paid.*"), ordinary("paid"), ordinary("pay.*"), ordinary("*", ["bank"])];
  expect(await load(apart)).toHaveLength(4);
});

test.each([
  ["the same type", [ordinary("a"), setBased("a")], 'on("shop", "a") and on("shop", "a")'],
  ["a list", [setBased(["a", "b"]), ordinary("b")], 'on("shop", ["a", "b"]) and on("shop", "b")'],
  ["every type", [ordinary("*"), setBased("b")], 'on("shop", "*") and on("shop", "b")'],
  ["two sets", [setBased("a"), setBased("*")], 'on("shop", "a") and on("shop", "*")'],
  ["a beginning", [setBased("a.*"), ordinary("a.b")], 'on("shop", "a.*") and on("shop", "a.b")'],
  ["two beginnings", [setBased("a.*"), ordinary("a*")], 'on("shop", "a.*") and on("shop", "a*")'],
  [
    "a list of sources",
    [setBased("a", ["bank", "shop"]), ordinary("a")],
    'on(["bank", "shop"], "a") and on("shop", "a")',
  ],
  ["every source", [setBased("a"), ordinary("*", "*")], 'on("shop", "a") and on("*", "*")'],
])("a set-based handler beside another one is refused, by %s", async (_, handlers, pair) => {
  await expect(load(handlers)).rejects.toMatchObject({
    code: "invalid_config",
    message: `Cannot use the handlers: an event may have one set-based handler, or ordinary ones:\n  ${pair}`,
  });
});

test("a set-based handler of an internal source may stand beside one of every source with a URL", async () => {
  const handlers = [ordinary("*", "*"), setBased("*", "mail")];
  expect(await load(handlers)).toEqual(handlers);
  await expect(load([ordinary("*", "*"), setBased("*", "bank")])).rejects.toMatchObject({
    code: "invalid_config",
  });
});

test("a handler of a source that is not configured is refused", async () => {
  await expect(load([ordinary("a", "other")])).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining('on("other", "a")'),
  });
  await expect(load([ordinary("a", ["shop", "other"])])).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining('on(["shop", "other"], "a")'),
  });
  await expect(load([ordinary("a", "sh*")])).rejects.toMatchObject({ code: "invalid_config" });
});

test("handlers that no event would go to are refused, all at once", async () => {
  const handlers = [ordinary("*.paid"), ordinary("a"), ordinary(["a", "a*b"]), ordinary([], "*")];
  await expect(load([...handlers, ordinary("a", [])])).rejects.toMatchObject({
    code: "invalid_config",
    message: [
      "Cannot use the handlers: a handler needs a source and a type, and a * stands only at the end of a type:",
      '  on("shop", "*.paid")',
      '  on("shop", ["a", "a*b"])',
      '  on("*", [])',
      '  on([], "a")',
    ].join("\n"),
  });
});

test("alerts need an address, which only a worker has, and are sent by a handler", async () => {
  const send = () => Promise.resolve();
  const slack = { name: "slack", target: undefined, variable: "SLACK_URL", send };
  const sources = { shop: { provider: {} }, millrace: { provider: { isInternal: true } } };
  const config = { sources, handlers: [], alerts: [slack] } as unknown as Config;
  await expect(loadHandlers(config, {})).rejects.toThrow("slack: set SLACK_URL");
  expect(await loadHandlers(config)).toEqual([]);
  expect(await loadHandlers(config, { SLACK_URL: "x" })).toMatchObject([{ sources: ["millrace"] }]);
});
