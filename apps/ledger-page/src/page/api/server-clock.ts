// A browser's clock may be minutes off, so ages follow the server's clock: the answers' Date.
let aheadMs = 0;

/** Notes the `Date` of an answer. Less than two seconds of difference is its own coarseness. */
export function learnServerTime(date: string | null, nowMs = Date.now()): void {
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs - nowMs;
  aheadMs = Math.abs(difference) < 2_000 ? 0 : difference;
}

/** Now, in milliseconds since 1970, by the server's clock. */
export function serverNowMs(): number {
  return Date.now() + aheadMs;
}
