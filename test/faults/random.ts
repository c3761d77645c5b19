export interface Random {
  next(): number;
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
  fork(): Random;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  const pick = <T>(from: readonly T[]): T => {
    const item = from[between(0, from.length - 1)];
    if (item === undefined) throw new Error("Cannot pick from an empty list");
    return item;
  };
  const shuffled = <T>(items: readonly T[]): T[] =>
    items
      .map((item) => ({ item, at: next() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ item }) => item);
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick,
    shuffled,
    fork: () => createRandom(between(0, 2 ** 32 - 1)),
  };
}
