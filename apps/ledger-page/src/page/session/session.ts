import type { Principal } from "@millrace/api-contract";
import { createContext, use } from "react";

const NOBODY: Principal = { user: null, role: "viewer", via: "session" };

export const SessionContext = createContext<Principal>(NOBODY);

export const useSession = (): Principal => use(SessionContext);
export const useMayWrite = (): boolean => useSession().role === "operator";

/** Refuses `//evil.example` and `/\evil.example`, which name another host to a browser. */
export function nextPath(next: string | null, origin: string): string {
  if (next === null || !next.startsWith("/")) return "/";
  const url = URL.canParse(next, origin) ? new URL(next, origin) : undefined;
  if (url === undefined || url.origin !== origin) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}
