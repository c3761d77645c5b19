import { generationOf, type Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const INVARIANT = "I12 DEDUP BOUND";

/**
 * I12: a handler starts once for each attempt that the ledger has counted, never twice with one number,
 * and never for an attempt that was not counted. A duplicate therefore starts none.
 */
export function checkStarts({ rows, starts }: Evidence): Finding[] {
  const attempts = new Map(rows.map((row) => [generationOf(row), row.attempts]));
  const seen = new Set<string>();
  return starts.flatMap((start) => {
    const key = `${generationOf(start)}, attempt ${start.attempt}`;
    const isRepeated = seen.has(key);
    seen.add(key);
    if (isRepeated) return [{ invariant: INVARIANT, text: `${key} was started twice` }];
    if (start.attempt <= (attempts.get(generationOf(start)) ?? 0)) return [];
    return [{ invariant: INVARIANT, text: `${key} was started and not counted` }];
  });
}

/** Starts beyond the first that no failure of the handler explains: what the faults have cost. */
export function countReruns({ starts, failedAttempts }: Evidence): number {
  const perEvent = new Map<string, number>();
  for (const start of starts) {
    perEvent.set(generationOf(start), (perEvent.get(generationOf(start)) ?? 0) + 1);
  }
  return [...perEvent].reduce(
    (sum, [key, count]) => sum + Math.max(0, count - 1 - (failedAttempts.get(key) ?? 0)),
    0,
  );
}
