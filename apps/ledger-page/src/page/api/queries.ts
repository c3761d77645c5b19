import type { EventDetail } from "@millrace/api-contract";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ApiError, request, type QueryText } from "./request.ts";
import { SESSION_KEY } from "./query-client.ts";

// Intervals are in milliseconds, and rest while the tab is hidden.
const LIST_EVERY = 3_000;
/** How many times as long as its reading took a list rests, so that it costs a tenth at most. */
const LIST_REST = 10;
const STATS_EVERY = 5_000;
const ACTIVITY_EVERY = 20_000;
const DISAGREEMENTS_EVERY = 60_000;

/** Who looks; null for a stranger, who has to sign in. */
export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: async ({ signal }) => {
    try {
      return await request("get /session", { signal });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

/**
 * A page of the ledger. `query` is made anew each time: "the last hour" moves on. A list that takes
 * long to read, such as that of a type hardly ever seen among millions, is read less often.
 */
export function eventsQuery(list: string, query: () => QueryText<"get /events">, live: boolean) {
  return queryOptions({
    queryKey: ["events", list],
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const page = await request("get /events", { query: query(), signal });
      return { ...page, tookMs: performance.now() - began };
    },
    refetchInterval: ({ state }) =>
      live && Math.max(LIST_EVERY, (state.data?.tookMs ?? 0) * LIST_REST),
    refetchOnWindowFocus: live,
    placeholderData: keepPreviousData,
  });
}

/** One event; the latest generation unless one is named. It is asked again until it has settled. */
export function eventQuery(source: string, eventId: string, generation: string | undefined) {
  return queryOptions({
    queryKey: ["event", source, eventId, generation ?? "latest"],
    queryFn: ({ signal }) =>
      request("get /events/:source/:eventId", {
        params: { source, eventId },
        query: { generation },
        signal,
      }),
    refetchInterval: ({ state }) => (isOnItsWay(state.data) ? LIST_EVERY : STATS_EVERY * 3),
  });
}

const isOnItsWay = (event: EventDetail | undefined): boolean =>
  event?.stage === "queued" || event?.status === "pending";

export const statsQuery = queryOptions({
  queryKey: ["stats"],
  queryFn: ({ signal }) => request("get /stats", { signal }),
  refetchInterval: STATS_EVERY,
});

/** The last hour by the minute; of one source, if one is named. */
export function activityQuery(source: string | undefined) {
  return queryOptions({
    queryKey: ["activity", source],
    queryFn: ({ signal }) => request("get /activity", { query: { source }, signal }),
    refetchInterval: ACTIVITY_EVERY,
    placeholderData: keepPreviousData,
  });
}

export const disagreementsQuery = queryOptions({
  queryKey: ["disagreements"],
  queryFn: ({ signal }) => request("get /disagreements", { signal }),
  refetchInterval: DISAGREEMENTS_EVERY,
});

/** Who did what, newest first. */
export function auditQuery(query: QueryText<"get /audit">) {
  return queryOptions({
    queryKey: ["audit", query],
    queryFn: ({ signal }) => request("get /audit", { query, signal }),
    placeholderData: keepPreviousData,
  });
}
