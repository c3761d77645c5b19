import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

const ENDS = ["close", "stop", "drop", "release", "remove"] as const;
type Ending = { [End in (typeof ENDS)[number]]?: () => Promise<unknown> };

export function openForAll<T extends Ending>(open: () => Promise<T>): T {
  return hold(open, beforeAll, afterAll);
}

export function openForEach<T extends Ending>(open: () => Promise<T>): T {
  return hold(open, beforeEach, afterEach);
}

function hold<T extends Ending>(
  open: () => Promise<T>,
  before: (hook: () => Promise<void>) => void,
  after: (hook: () => Promise<void>) => void,
): T {
  const held: Partial<T> = {};
  before(async () => {
    Object.defineProperties(held, Object.getOwnPropertyDescriptors(await open()));
  });
  after(async () => {
    const name = ENDS.find((end) => held[end] !== undefined);
    if (name === undefined) return;
    const end = held[name];
    delete held[name];
    await end?.();
  });
  return held as T;
}
