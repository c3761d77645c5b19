import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./request.ts";

export const SESSION_KEY = ["session"] as const;

/** The cache of what the API answered. An answer 401, to whatever, ends the session in it. */
export function createQueryClient(): QueryClient {
  const endSession = (error: unknown) => {
    if (error instanceof ApiError && error.status === 401) client.setQueryData(SESSION_KEY, null);
  };
  const client = new QueryClient({
    queryCache: new QueryCache({ onError: endSession }),
    mutationCache: new MutationCache({ onError: endSession }),
    defaultOptions: { queries: { retry: isWorthARetry, staleTime: 1_000 } },
  });
  return client;
}

/** Forgets all but the session: the next who signs in may see less. */
export function forgetData(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}

/** A refusal is final; a server that is away may return. */
function isWorthARetry(failures: number, error: unknown): boolean {
  return failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500);
}
