import type { Principal } from "@millrace/api-contract";
import { createContext, use } from "react";

const NOBODY: Principal = { user: null, role: "viewer", via: "session" };

export const SessionContext = createContext<Principal>(NOBODY);

export function useSession(): Principal {
  return use(SessionContext);
}

export function useMayWrite(): boolean {
  return useSession().role === "operator";
}
