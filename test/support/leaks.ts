import { afterEach, beforeEach } from "vitest";

// A rejection that nobody hears is a fault of the code under test, even where the test passes.
const KEY = Symbol.for("millrace.test.unhandled");
const unhandled = listenOnce();

/** Files that share a process share what listens in it. */
function listenOnce(): unknown[] {
  const known: unknown = Reflect.get(globalThis, KEY);
  if (Array.isArray(known)) return known;
  const heard: unknown[] = [];
  process.on("unhandledRejection", (reason) => heard.push(reason));
  Reflect.set(globalThis, KEY, heard);
  return heard;
}

beforeEach(() => {
  unhandled.length = 0;
});

afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  if (unhandled.length > 0) {
    throw new Error(`Nobody heard a rejection: ${String(unhandled[0])}`, { cause: unhandled[0] });
  }
});
