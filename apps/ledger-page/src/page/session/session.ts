import type { Principal } from "@millrace/api-contract";
import { createContext, use } from "react";

const NOBODY: Principal = { user: null, role: "viewer", via: "session" };

export const SessionContext = createContext<Principal>(NOBODY);

/** Who looks at the page. */
export function useSession(): Principal {
  return use(SessionContext);
}

/** True for a user who can retry, replay, pause and resume. */
export function useMayWrite(): boolean {
  return useSession().role === "operator";
}

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
