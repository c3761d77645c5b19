import { afterEach, expect, test } from "vitest";
import { failpoint } from "./failpoint.ts";

const HOOK = Symbol.for("millrace.failpoint");

afterEach(() => {
  Reflect.deleteProperty(globalThis, HOOK);
});

test("a step that nobody has armed is passed by", () => {
  expect(() => failpoint("worker.handled")).not.toThrow();
});

test("whoever has armed the steps hears which one is reached", () => {
  const reached: string[] = [];
  Reflect.set(globalThis, HOOK, (name: string) => reached.push(name));
  failpoint("ingress.verified");
  failpoint("worker.handled");
  expect(reached).toEqual(["ingress.verified", "worker.handled"]);
});
