import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Deadlines, LazySignal } from "./deadline.ts";

setFlagsFromString("--expose-gc");
const collectAll = runInNewContext("gc") as () => void;

const AT_ONCE = 64;

/**
 * Begins and ends 100,000 waits, 64 at once. Gives the bytes of them that outlived the quick
 * collections.
 */
function bytesKept(begin: (wait: object) => () => void): number {
  const ends: (() => void)[] = [];
  const run = (count: number) => {
    for (let turn = 0; turn < count; turn += 1) {
      const payload = Array.from({ length: 16 }, () => turn);
      ends[turn % AT_ONCE]?.();
      ends[turn % AT_ONCE] = begin({ payload });
    }
  };
  run(1_000);
  // Objects that exist now are old from here on.
  collectAll();
  const before = oldBytes();
  run(40_000);
  const kept = oldBytes() - before;
  for (const end of ends) end();
  return kept;
}

function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space");
  return old?.space_used_size ?? 0;
}

test.each([
  [
    "deadlines",
    () => {
      const deadlines = new Deadlines<object>(60_000, () => {});
      return (wait: object) => {
        const deadline = deadlines.add(wait);
        return () => deadlines.delete(deadline);
      };
    },
  ],
  [
    "listeners of a signal",
    () => {
      const signal = new LazySignal();
      return (wait: object) => {
        const listener = () => void wait;
        signal.addEventListener("abort", listener);
        return () => signal.removeEventListener("abort", listener);
      };
    },
  ],
])("%s that come and go are collected early, however long their owner lives", (_what, make) => {
  expect(bytesKept(make())).toBeLessThan(2_000_000);
});
