/**
 * Where to go after signing in: the path in `next` when it is one of ours, else the ledger. A path
 * such as `//evil.example` would name another host, and so would `/\evil.example` to a browser.
 */
export function nextPath(next: string | null, origin: string): string {
  if (next === null || !next.startsWith("/")) return "/";
  const url = URL.canParse(next, origin) ? new URL(next, origin) : undefined;
  if (url === undefined || url.origin !== origin) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}
