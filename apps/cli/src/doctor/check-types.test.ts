import { on, parseConfig, type Config, nearest } from "@millrace/core";
import { github, hookMesh, stripe } from "@millrace/providers";
import { expect, test } from "vitest";
import { strangeTypes } from "./check-postgres.ts";

const sources: Config["sources"] = parseConfig({
  sources: {
    pay: stripe({ types: ["v2.core.account.closed"] }),
    code: github(),
    shop: hookMesh(),
    own: hookMesh({ types: ["order.packed"] }),
  },
}).sources;

const none = new Map<string, readonly string[]>();
const run = () => {};
const strange = (
  source: string | string[],
  types: string | string[],
  sent: ReadonlyMap<string, readonly string[]> = none,
) =>
  strangeTypes([on(source, types, run)], sources, sent).map(({ type, nearest: meant }) => [
    type,
    meant,
  ]);

test("a type that the provider lists, that the config adds, or that has come is known", () => {
  expect(strange("pay", ["payment_intent.succeeded", "payment_intent.*", "*"])).toEqual([]);
  expect(strange("pay", "v2.core.account.closed")).toEqual([]);
  expect(strange("pay", "brand.new", new Map([["pay", ["brand.new"]]]))).toEqual([]);
  expect(strange(["pay", "code"], ["push", "invoice.paid"])).toEqual([]);
  expect(strange("*", "*")).toEqual([]);
});

test("any other type is strange, and the nearest one that is known is named", () => {
  expect(strange("pay", ["payment_intent.suceeded", "quite.another.thing"])).toEqual([
    ["payment_intent.suceeded", "payment_intent.succeeded"],
    ["quite.another.thing", undefined],
  ]);
  expect(strange("pay", "paymnt_intent.*")).toEqual([
    ["paymnt_intent.*", expect.stringMatching(/^payment_intent\./)],
  ]);
  expect(strange("code", "pull_requests")).toEqual([["pull_requests", "pull_request"]]);
  expect(strange("own", "order.pakced")).toEqual([["order.pakced", "order.packed"]]);
  expect(strange(["pay", "code"], "psuh")).toEqual([["psuh", "push"]]);
});

test("where a source lists nothing, only a slip of a type that has come is strange", () => {
  const sent = new Map([["shop", ["order.packed", "user.created"]]]);
  expect(strange("shop", "order.pakced")).toEqual([]);
  expect(strange(["pay", "shop"], "order.pakced")).toEqual([]);
  expect(strange("shop", ["order.pakced", "usr.*"], sent)).toEqual([
    ["order.pakced", "order.packed"],
    ["usr.*", "user.created"],
  ]);
  // The first event of a new project is one type of several.
  const own = ["order.shipped", "user.deleted", "payment.succeeded", "carrier.added"];
  expect(strange("shop", own, sent)).toEqual([]);
});

test("the nearest text differs in no more than a third of its characters", () => {
  expect(nearest("push", ["pull", "posh", "pushed"])).toBe("posh");
  expect(nearest("orders/craete", ["orders/create", "orders/delete"])).toBe("orders/create");
  expect(nearest("abc", ["ayz"])).toBeUndefined();
  expect(nearest("abc", [])).toBeUndefined();
  expect(nearest("oder.*", ["user.created", "order.created"])).toBe("order.created");
});
