import { isMillraceError, withDeadline } from "@millrace/core";
import type { Readiness } from "./status-router.ts";

/**
 * Asks all parts at the same time whether they work, each within `timeoutMs` (1,000). A part is `ok`
 * when its check resolves. Otherwise its state is a code or fixed words: an error's message may name an
 * address, and a stranger may read `/readyz`. `onFailure` gets the error, for the log.
 */
export async function checkParts(
  checks: Readonly<Record<string, () => Promise<unknown>>>,
  options: { timeoutMs?: number; onFailure?: (part: string, error: unknown) => void } = {},
): Promise<Readiness> {
  const { timeoutMs = 1_000, onFailure } = options;
  const late = new Error(`no answer within ${timeoutMs} ms`);
  const parts: Record<string, string> = {};
  await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await withDeadline(check(), timeoutMs, () => late);
        parts[name] = "ok";
      } catch (error) {
        parts[name] = error === late ? late.message : codeOf(error);
        onFailure?.(name, error);
      }
    }),
  );
  return { ready: Object.values(parts).every((state) => state === "ok"), parts };
}

function codeOf(error: unknown): string {
  return isMillraceError(error) ? error.code : "unavailable";
}
