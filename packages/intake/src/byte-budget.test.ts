import { expect, test, vi, type Mock } from "vitest";
import { ByteBudget, type BodyBeingRead, type BodyPool } from "./byte-budget.ts";

const MB = 1_000_000;

function budgetOf(bytesMax: number, ...names: string[]) {
  return new ByteBudget(bytesMax, new Map(names.map((name) => [name, MB])));
}

type Reading = BodyBeingRead & { readonly evict: Mock<() => void> };

/** A body that is being read in a pool, and how long ago it began. */
function reading(pool: BodyPool, bytes: number, agoMs: number) {
  const body: Reading = {
    startedMs: performance.now() - agoMs,
    before: undefined,
    after: undefined,
    evict: vi.fn<() => void>(() => {
      pool.leave(body);
      pool.release(bytes);
    }),
  };
  expect(pool.take(bytes, body)).toBeUndefined();
  pool.enter(body);
  return body;
}

test("long bodies of the only source take all but an eighth, and small ones all", () => {
  const budget = budgetOf(64 * MB, "only");
  const { small, large } = budget.of("only");
  expect(large.take(56 * MB)).toBeUndefined();
  expect(large.take(1)).toBe("source_share");
  expect(small.take(8 * MB)).toBeUndefined();
  expect(small.take(1)).toBe("budget");
  large.release(56 * MB);
  expect(small.take(56 * MB)).toBeUndefined();
  expect(budget.taken).toBe(64 * MB);
});

test("one of several sources takes half, whatever it sends, and the others have the rest", () => {
  const budget = budgetOf(64 * MB, "one", "other");
  const [one, other] = [budget.of("one"), budget.of("other")];
  expect(one.large.take(28 * MB)).toBeUndefined();
  expect(one.large.take(1)).toBe("source_share");
  expect(other.large.take(28 * MB)).toBeUndefined();
  // Both hold all that they may of long bodies: the small ones of both are still taken.
  expect(one.small.take(4 * MB)).toBeUndefined();
  expect(other.small.take(4 * MB)).toBeUndefined();
});

test("the longest body that a source accepts fits into its share, and into the budget if it can", () => {
  const sizes = new Map([
    ["huge", 60 * MB],
    ["other", MB],
  ]);
  expect(new ByteBudget(64 * MB, sizes).of("huge").large.take(60 * MB)).toBeUndefined();
  expect(new ByteBudget(50 * MB, sizes).of("huge").large.take(50 * MB)).toBeUndefined();
});

test("of the long bodies of the pool that holds most the oldest gives way, when it is a second old", () => {
  const budget = budgetOf(64 * MB, "one", "other", "third");
  const [one, other] = [budget.of("one"), budget.of("other")];
  const old = reading(one.large, 20 * MB, 3_000);
  const second = reading(one.large, 8 * MB, 2_000);
  const others = reading(other.large, 10 * MB, 5_000);
  const young = reading(other.large, 10 * MB, 500);
  expect(budget.of("third").large.take(10 * MB)).toBeUndefined();
  expect(old.evict).toHaveBeenCalledOnce();
  for (const stays of [second, others, young]) expect(stays.evict).not.toHaveBeenCalled();
});

test("a source that is at its share makes its own oldest body give way, never another's", () => {
  const budget = budgetOf(64 * MB, "one", "other");
  const [one, other] = [budget.of("one"), budget.of("other")];
  const others = reading(other.large, 28 * MB, 9_000);
  const own = reading(one.large, 20 * MB, 2_000);
  expect(one.large.take(15 * MB)).toBeUndefined();
  expect(own.evict).toHaveBeenCalledOnce();
  expect(others.evict).not.toHaveBeenCalled();
});

test("a body never gives way to itself, nor to one that could not be taken in any case", () => {
  const { large } = budgetOf(64 * MB, "only").of("only");
  const self = reading(large, 50 * MB, 9_000);
  expect(large.take(10 * MB, self)).toBe("source_share");
  expect(large.admits(57 * MB)).toBe("source_share");
  expect(large.admits(10 * MB)).toBeUndefined();
  expect(self.evict).not.toHaveBeenCalled();
});

test("small bodies that are held back give way at once, so that the next small one is never refused", () => {
  const budget = budgetOf(64 * MB, "one", "other");
  const { small } = budget.of("one");
  const held = Array.from({ length: 512 }, () => reading(small, 62_500, 0));
  expect(small.take(1_400)).toBeUndefined();
  const calls = held.map(({ evict }) => evict.mock.calls.length);
  expect(calls).toEqual([1, ...Array.from({ length: 511 }, () => 0)]);
  // Both sources are held: whichever holds most gives way.
  const others = Array.from({ length: 511 }, () => reading(budget.of("other").small, 62_500, 0));
  expect(budget.of("other").small.take(125_000)).toBeUndefined();
  expect(others[0]?.evict).toHaveBeenCalled();
});

test("a long body that is young holds its bytes, and the next is refused", () => {
  const budget = budgetOf(64 * MB, "only");
  const { small, large } = budget.of("only");
  const young = reading(large, 56 * MB, 0);
  expect(large.admits(1)).toBe("source_share");
  expect(large.take(1)).toBe("source_share");
  expect(small.take(9 * MB)).toBe("budget");
  expect(small.take(8 * MB)).toBeUndefined();
  expect(young.evict).not.toHaveBeenCalled();
  expect(budget.taken).toBe(64 * MB);
});

test("small bodies are taken while large ones are sent anew each second and small ones are held back", () => {
  const budget = budgetOf(64 * MB, "one", "other", "third");
  const young = ["one", "other"].map((name) => reading(budget.of(name).large, 28 * MB, 500));
  const held = [62_500, 62_500].map((bytes) => reading(budget.of("one").small, bytes, 3_000));
  expect(budget.of("one").small.take(8 * MB - 125_000)).toBeUndefined();
  expect(budget.of("third").small.take(1_400)).toBeUndefined();
  expect(held.map(({ evict }) => evict.mock.calls.length)).toEqual([1, 0]);
  // A large one takes nothing from small ones.
  expect(budget.of("third").large.take(62_500)).toBe("budget");
  for (const { evict } of [...young, ...held.slice(1)]) expect(evict).not.toHaveBeenCalled();
});

test("bodies give way in the order in which they entered, whichever of them has left or entered twice", () => {
  const { small } = budgetOf(4 * 62_500, "only").of("only");
  const bodies = Array.from({ length: 4 }, () => reading(small, 62_500, 0));
  const [first, second, third, fourth] = bodies;
  for (const body of bodies) small.enter(body);
  for (const gone of [third, second]) if (gone !== undefined) gone.evict();
  if (second !== undefined) small.leave(second);
  expect(small.displaceable).toBe(first);
  first?.evict();
  expect(small.displaceable).toBe(fourth);
  fourth?.evict();
  expect([small.isReading, small.taken]).toEqual([false, 0]);
  const next = reading(small, 62_500, 0);
  expect(small.displaceable).toBe(next);
});
