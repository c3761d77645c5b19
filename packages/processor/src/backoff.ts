import type { SourcePolicy } from "@millrace/core";

/**
 * Milliseconds until the next attempt: `firstMs` times `factor` for each failure after the first,
 * at most `maxMs`, drawn evenly between 0 and that (full jitter).
 *
 * @param failures - failed attempts so far, from 1.
 * @param random - gives a number from 0 to 1, as Math.random does.
 */
export function backoffMs(
  policy: SourcePolicy["backoff"],
  failures: number,
  random: () => number,
): number {
  const longest = Math.min(policy.firstMs * policy.factor ** (failures - 1), policy.maxMs);
  return Math.round(longest * random());
}
