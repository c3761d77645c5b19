import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

interface Closable {
  close(): Promise<unknown>;
}

/** Opens something before the tests that follow, and closes it after them. */
export function openForAll<T extends Closable>(open: () => Promise<T>): T {
  return hold(open, beforeAll, afterAll);
}

/** Opens something anew for each of the tests that follow. */
export function openForEach<T extends Closable>(open: () => Promise<T>): T {
  return hold(open, beforeEach, afterEach);
}

function hold<T extends Closable>(
  open: () => Promise<T>,
  before: (hook: () => Promise<void>) => void,
  after: (hook: () => Promise<void>) => void,
): T {
  const held: Partial<T> = {};
  before(async () => void Object.assign(held, await open()));
  after(async () => {
    const { close } = held;
    delete held.close;
    await close?.();
  });
  return held as T;
}
