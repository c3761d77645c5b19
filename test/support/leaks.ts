import { afterEach, beforeAll, beforeEach } from "vitest";
import { activeResources, untilReleased, type ActiveResources } from "./active-resources.ts";

// A rejection that nobody handles is a fault of the code under test, even where the test passes.
interface Shared {
  readonly unhandled: unknown[];
  settled: ActiveResources | undefined;
}

const KEY = Symbol.for("millrace.test.leaks");
const shared = share();

function share(): Shared {
  const known = Reflect.get(globalThis, KEY) as Shared | undefined;
  if (known !== undefined) return known;
  const created: Shared = { unhandled: [], settled: undefined };
  process.on("unhandledRejection", (reason) => created.unhandled.push(reason));
  Reflect.set(globalThis, KEY, created);
  return created;
}

// Between two files vitest has a timer of its own for a moment, which would count for one of the file's. So
// a file is compared with what was there once the file before had been checked.
const before = shared.settled ?? activeResources();

// The cleanup of the first `beforeAll` runs after every other hook of the file, `afterAll` included.
beforeAll(() => async () => {
  try {
    await untilReleased(before);
  } finally {
    shared.settled = activeResources();
  }
});

beforeEach(() => {
  shared.unhandled.length = 0;
});

afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  const [reason] = shared.unhandled;
  if (shared.unhandled.length > 0) {
    throw new Error(`Nobody handled a rejection: ${String(reason)}`, { cause: reason });
  }
});
