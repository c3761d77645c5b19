import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { isQueueKey, makeQueueKey, QueueKeys } from "./queue-keys.ts";

const KEY = Buffer.alloc(32, 7);

test("a key is 32 bytes, as hex or base64, and is named by the beginning of its hash", () => {
  const texts = [KEY.toString("hex"), KEY.toString("base64"), KEY.toString("base64url")];
  const all = texts.map((text) => new QueueKeys(text));
  expect(new Set(all.map(({ kid }) => kid)).size).toBe(1);
  expect(all[0]?.kid).toMatch(/^[0-9a-f]{8}$/);
  const mac = createHmac("sha256", KEY).update("text").digest("base64url");
  for (const keys of all) expect(keys.sign("text")).toBe(mac);
});

test.each([[""], ["change-me"], ["ab".repeat(31)], ["ab".repeat(33)], [`${makeQueueKey()},`]])(
  "%j is no key",
  (text) => {
    expect(isQueueKey(text)).toBe(false);
    expect(() => new QueueKeys(text)).toThrow(expect.objectContaining({ code: "invalid_config" }));
  },
);

test("the first of several keys signs, and each of them verifies", () => {
  const [old, next] = [makeQueueKey(), makeQueueKey()];
  const before = new QueueKeys(old);
  const both = new QueueKeys(`${next}, ${old}`);
  const after = new QueueKeys(next);
  expect(both.kid).toBe(after.kid);
  const oldSeal = { kid: before.kid, mac: before.sign("text") };
  const newSeal = { kid: both.kid, mac: both.sign("text") };
  expect(both.verify("text", oldSeal)).toBe(true);
  expect(after.verify("text", oldSeal)).toBe(false);
  expect(after.verify("text", newSeal)).toBe(true);
  expect(both.verify("text", { ...oldSeal, kid: both.kid })).toBe(false);
});

test("another text, and a MAC that is cut, longer, or not ASCII, is not verified", () => {
  const keys = new QueueKeys(makeQueueKey());
  const { kid } = keys;
  const mac = keys.sign("text");
  expect(keys.verify("text ", { kid, mac })).toBe(false);
  for (const wrong of ["", mac.slice(1), `${mac}A`, "é".repeat(43), mac.toLowerCase()]) {
    expect(keys.verify("text", { kid, mac: wrong })).toBe(false);
  }
});

test("a key is not shown by what prints the object", () => {
  const key = makeQueueKey();
  const keys = new QueueKeys(key);
  expect(JSON.stringify(keys)).not.toContain(key);
  expect(Object.values(keys).map(String).join()).not.toContain(key);
});
