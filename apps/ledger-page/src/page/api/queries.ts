import type { ACTIVITY_RANGES, AnswerOf, EventDetail } from "@millrace/api-contract";
import { keepPreviousData, queryOptions, type QueryClient } from "@tanstack/react-query";
import { restOf, RUN_EVERY } from "../parts/run-text.ts";
import { ApiError, malformedAnswer, request, requestBytes, type QueryText } from "./request.ts";

// Milliseconds; no query runs while the tab is hidden.
const LIST_EVERY = 3_000;
/** So that reading a list takes a tenth of the time at most. */
const LIST_REST = 10;
/** The dashboard answers within a second and a half. */
const HEALTH_TIMEOUT_MS = 4_000;
const STATS_EVERY = 5_000;
const ACTIVITY_EVERY = 20_000;

export const SESSION_KEY = ["session"] as const;

/** Null before the user signs in. */
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

/** Forgets all but the session: the next user may see less. */
export function forgetData(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}

/** `query` is made again for each call: "the last hour" moves on. */
export function eventsQuery(list: string, query: () => QueryText<"get /events">, live: boolean) {
  return queryOptions({
    queryKey: ["events", list],
    queryFn: async ({ signal }) => {
      const page = await timed(() => request("get /events", { query: query(), signal }));
      if (!isEventPage(page)) throw malformedAnswer("a list of events");
      return page;
    },
    refetchInterval: ({ state }) =>
      live && Math.max(LIST_EVERY, (state.data?.tookMs ?? 0) * LIST_REST),
    refetchOnWindowFocus: live,
    placeholderData: keepPreviousData,
  });
}

/** Any other answer must not look like an empty ledger. */
function isEventPage(page: AnswerOf<"get /events"> | null): boolean {
  const rows: unknown = page?.events;
  const hasTexts = (row: unknown) =>
    ["source", "event_id", "type"].every((name) => typeof Object(row)[name] === "string");
  return Array.isArray(rows) && rows.every(hasTexts);
}

const COUNTED_MAX = "10000";

/** Called a tenth as often as the list. */
export function countQuery(
  list: string,
  query: () => QueryText<"get /event-count">,
  live: boolean,
) {
  return queryOptions({
    queryKey: ["event-count", list],
    queryFn: ({ signal }) =>
      timed(() => request("get /event-count", { query: { ...query(), max: COUNTED_MAX }, signal })),
    refetchInterval: ({ state }) =>
      live && LIST_REST * Math.max(LIST_EVERY, (state.data?.tookMs ?? 0) * LIST_REST),
    refetchOnWindowFocus: false,
  });
}

export function eventQuery(source: string, eventId: string, generation: string | undefined) {
  return queryOptions({
    queryKey: ["event", source, eventId, generation ?? "latest"],
    queryFn: ({ signal }) =>
      request("get /events/:source/:eventId", {
        params: { source, eventId },
        query: { generation, body: "false" },
        signal,
      }),
    refetchInterval: ({ state: { data } }) =>
      data?.stage === "queued" || data?.status === "pending" ? LIST_EVERY : STATS_EVERY * 3,
  });
}

/** Bytes. The rest of a larger body is downloaded. */
const BODY_PART = 256 * 1024;

type BodyKey = Pick<EventDetail, "source" | "event_id" | "generation">;

export function bodyQuery({ source, event_id, generation }: BodyKey) {
  return queryOptions({
    queryKey: ["body", source, event_id, generation],
    queryFn: ({ signal }) =>
      requestBytes("get /events/:source/:eventId/body", {
        params: { source, eventId: event_id },
        query: { generation: String(generation), length: String(BODY_PART) },
        signal,
      }),
    staleTime: "static",
  });
}

/** A failure is not retried at once: it is news too. */
export const healthQuery = queryOptions({
  queryKey: ["health"],
  queryFn: ({ signal }) => request("get /health", { signal, timeoutMs: HEALTH_TIMEOUT_MS }),
  refetchInterval: LIST_EVERY,
  retry: false,
});

export const statsQuery = queryOptions({
  queryKey: ["stats"],
  queryFn: ({ signal }) => request("get /stats", { signal }),
  refetchInterval: STATS_EVERY,
});

export type ActivityRange = keyof typeof ACTIVITY_RANGES;

export function activityQuery(query: QueryText<"get /activity">) {
  return queryOptions({
    queryKey: ["activity", query],
    queryFn: ({ signal }) => request("get /activity", { query, signal }),
    refetchInterval: ACTIVITY_EVERY,
  });
}

export function errorsQuery(query: QueryText<"get /errors">) {
  return queryOptions({
    queryKey: ["errors", query],
    queryFn: ({ signal }) => request("get /errors", { query, signal }),
    refetchInterval: STATS_EVERY,
    placeholderData: keepPreviousData,
  });
}

export function errorQuery(fingerprint: string) {
  return queryOptions({
    queryKey: ["errors", fingerprint],
    queryFn: ({ signal }) =>
      request("get /errors/:fingerprint", { params: { fingerprint }, signal }),
    refetchInterval: STATS_EVERY,
  });
}

export function auditQuery(query: QueryText<"get /audit">) {
  return queryOptions({
    queryKey: ["audit", query],
    queryFn: ({ signal }) => request("get /audit", { query, signal }),
    placeholderData: keepPreviousData,
  });
}

/** Each call counts the events of runs that have not settled. */
export const runsQuery = queryOptions({
  queryKey: ["runs"],
  queryFn: ({ signal }) => timed(() => request("get /runs", { signal })),
  refetchInterval: ({ state: { data } }) => Math.max(LIST_EVERY, (data?.tookMs ?? 0) * LIST_REST),
});

export function runQuery(id: string) {
  return queryOptions({
    queryKey: ["runs", id],
    queryFn: ({ signal }) => timed(() => request("get /runs/:id", { params: { id }, signal })),
    select: ({ run }) => run,
    refetchInterval: ({ state: { data } }) =>
      data === undefined ? RUN_EVERY : restOf(data.run, data.tookMs),
  });
}

async function timed<Answer>(ask: () => Promise<Answer>): Promise<Answer & { tookMs: number }> {
  const began = performance.now();
  return { ...(await ask()), tookMs: performance.now() - began };
}
