import { afterEach, beforeEach } from "vitest";

// A rejection that nobody hears is a fault of the code under test, even where the test passes.
const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));

beforeEach(() => {
  unhandled.length = 0;
});

afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  if (unhandled.length > 0) {
    throw new Error(`Nobody heard a rejection: ${String(unhandled[0])}`, { cause: unhandled[0] });
  }
});
