import { createContext, use } from "react";
import type { Session } from "../api/types.ts";

const NOBODY: Session = { user: null, role: "viewer", via: "session" };

export const SessionContext = createContext<Session>(NOBODY);

/** Who looks at the page. */
export function useSession(): Session {
  return use(SessionContext);
}

/** Whether whoever looks may retry, replay, pause and resume. */
export function useMayWrite(): boolean {
  return useSession().role === "operator";
}
