import type { Principal } from "@millrace/api-contract";
import { createContext, use } from "react";

const NOBODY: Principal = { user: null, role: "viewer", via: "session" };

export const SessionContext = createContext<Principal>(NOBODY);

export const useSession = (): Principal => use(SessionContext);
export const useMayWrite = (): boolean => useSession().role === "operator";
