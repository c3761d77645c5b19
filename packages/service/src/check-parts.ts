import type { Readiness } from "./status-router.ts";
import { reasonOf } from "./trouble-log.ts";

/**
 * Asks each part whether it works, side by side, each within `timeoutMs` (1,000): a part is `ok`
 * when its check resolves.
 */
export async function checkParts(
  checks: Readonly<Record<string, () => Promise<unknown>>>,
  options: { timeoutMs?: number } = {},
): Promise<Readiness> {
  const timeoutMs = options.timeoutMs ?? 1_000;
  const parts: Record<string, string> = {};
  await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      parts[name] = await verdict(check, timeoutMs);
    }),
  );
  return { ready: Object.values(parts).every((state) => state === "ok"), parts };
}

async function verdict(check: () => Promise<unknown>, timeoutMs: number): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${timeoutMs} ms`), timeoutMs);
  });
  try {
    return await Promise.race([check().then(() => "ok"), timeout]);
  } catch (error) {
    return reasonOf(error);
  } finally {
    clearTimeout(timer);
  }
}
