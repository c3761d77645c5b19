// oxlint-disable-next-line import/no-unassigned-import -- a stylesheet
import "@fontsource-variable/inter/wght.css";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { sessionQuery } from "./api/queries.ts";
import { ApiError } from "./api/request.ts";
import { App } from "./app.tsx";

const endSession = (error: unknown) => {
  if (!(error instanceof ApiError) || error.status !== 401) return;
  client.setQueryData(sessionQuery.queryKey, null);
};
/** A refusal is final; a server that is away may return. */
const retry = (failures: number, error: unknown) =>
  failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500);
const client = new QueryClient({
  queryCache: new QueryCache({ onError: endSession }),
  mutationCache: new MutationCache({ onError: endSession }),
  defaultOptions: { queries: { retry, staleTime: 1_000 } },
});

const root = document.querySelector("#root");
if (root === null) throw new Error("Cannot show the page: it has no #root");

createRoot(root).render(
  <QueryClientProvider client={client}>
    <BrowserRouter>
      <App />
    </BrowserRouter>
  </QueryClientProvider>,
);
