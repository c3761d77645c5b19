import type { Attempt } from "./events.ts";

// It stands alone, so that the page gets it without the schemas.

export interface FoldedAttempts {
  readonly first: Attempt;
  readonly last: Attempt;
  readonly all: readonly Attempt[];
}

export function foldAttempts(attempts: readonly Attempt[]): FoldedAttempts[] {
  const folded: FoldedAttempts[] = [];
  for (const attempt of attempts) {
    const before = folded.at(-1);
    if (before !== undefined && isSame(before.last, attempt)) {
      folded[folded.length - 1] = { ...before, last: attempt, all: [...before.all, attempt] };
    } else folded.push({ first: attempt, last: attempt, all: [attempt] });
  }
  return folded;
}

function isSame(one: Attempt, other: Attempt): boolean {
  return one.code === other.code && one.message === other.message && one.counted === other.counted;
}
