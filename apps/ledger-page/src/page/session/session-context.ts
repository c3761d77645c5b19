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
