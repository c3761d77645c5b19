import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

interface Closable {
  close(): Promise<unknown>;
}

export function openForAll<T extends Closable>(open: () => Promise<T>): T {
  return hold(open, beforeAll, afterAll);
}

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
