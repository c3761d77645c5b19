/** Refuses `//evil.example` and `/\evil.example`, which name another host to a browser. */
export function nextPath(next: string | null, origin: string): string {
  if (next === null || !next.startsWith("/")) return "/";
  const url = URL.canParse(next, origin) ? new URL(next, origin) : undefined;
  if (url === undefined || url.origin !== origin) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}
