import type {
  ACTIVITY_RANGES,
  AnswerOf,
  EventDetail,
  OperationName,
  Principal,
} from "@millrace/api-contract";
import { keepPreviousData, queryOptions, type QueryClient } from "@tanstack/react-query";
import { restOf, RUN_EVERY } from "../runs/bulk.ts";
import { ApiError, request, requestBytes, type Options, type QueryText } from "./request.ts";

// Milliseconds; no query runs while the tab is hidden.
const LIST_EVERY = 3_000;
/** So that reading a list takes a tenth of the time at most. */
const LIST_REST = 10;
/** The dashboard answers within a second and a half. */
const HEALTH_TIMEOUT_MS = 4_000;
const STATS_EVERY = 5_000;
const ACTIVITY_EVERY = 20_000;

/** Cached by the name of the operation and what is asked of it. */
const ask = <Name extends OperationName>(name: Name, options: Options<Name>) =>
  queryOptions({
    queryKey: [name, options],
    queryFn: ({ signal }) => request(name, { ...options, signal }),
  });

/** Null before the user signs in. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
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

/** Null ends it. All else is forgotten: the next user may see less. */
export function setSession(client: QueryClient, session: Principal | null): void {
  const { queryKey: kept } = sessionQuery;
  client.setQueryData(kept, session);
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== kept[0] });
}

/** `query` is made again for each call: "the last hour" moves on. */
export function eventsQuery(list: string, query: () => QueryText<"get /events">, live: boolean) {
  const queryKey = ["events", list];
  return queryOptions({
    queryKey,
    queryFn: async ({ client, signal }) => {
      const asked = query();
      const isFirst = client.getQueryData(queryKey) === undefined;
      const read = async (cursor = asked.cursor) => {
        const page = await request("get /events", { query: { ...asked, cursor }, signal });
        if (!isEventPage(page)) throw new ApiError("malformed_answer", MALFORMED, 200);
        return page;
      };
      return await timed(() =>
        readOn(read, (page) => {
          if (isFirst) client.setQueryData(queryKey, { ...page, tookMs: 0 });
        }),
      );
    },
    refetchInterval: ({ state }) =>
      live && Math.max(LIST_EVERY, (state.data?.tookMs ?? 0) * LIST_REST),
    refetchOnWindowFocus: live,
    placeholderData: keepPreviousData,
  });
}

const READ_ON_MS = 2_000;

/** An empty page whose search ended before the ledger did is shown, and the next one is read. */
async function readOn(
  read: (cursor?: string) => Promise<AnswerOf<"get /events">>,
  show: (page: AnswerOf<"get /events">) => void,
) {
  const untilMs = performance.now() + READ_ON_MS;
  const first = await read();
  let page = first;
  while (isUndecided(page) && performance.now() < untilMs) {
    show(page);
    page = { ...(await read(page.next ?? undefined)), queued: first.queued };
  }
  return page;
}

const isUndecided = ({ events, next, queued }: AnswerOf<"get /events">) =>
  events.length === 0 && next !== null && !queued?.events.length;

const MALFORMED =
  "Cannot read the answer: it is not a list of events. " +
  "Reload the page, and check the proxy in front of the dashboard";

/** The answer of a proxy or another build must not look like an empty ledger. */
function isEventPage(page: AnswerOf<"get /events"> | null): page is AnswerOf<"get /events"> {
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
  const query = { generation, body: "false" };
  return queryOptions({
    ...ask("get /events/:source/:eventId", { params: { source, eventId }, query }),
    refetchInterval: ({ state: { data } }) =>
      data?.stage === "queued" || data?.status === "pending" ? LIST_EVERY : STATS_EVERY * 3,
  });
}

/** Bytes. The rest of a larger body is downloaded. */
const BODY_PART = 256 * 1024;

export function bodyQuery({ source, event_id, generation }: EventDetail) {
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
  queryFn: ({ signal: left }) => {
    const signal = AbortSignal.any([left, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]);
    return request("get /health", { signal });
  },
  refetchInterval: LIST_EVERY,
  retry: false,
});

export const statsQuery = { ...ask("get /stats", {}), refetchInterval: STATS_EVERY };

export type ActivityRange = keyof typeof ACTIVITY_RANGES;

export const activityQuery = (query: QueryText<"get /activity">) => ({
  ...ask("get /activity", { query }),
  refetchInterval: ACTIVITY_EVERY,
});

export const errorsQuery = (query: QueryText<"get /errors">) =>
  queryOptions({
    ...ask("get /errors", { query }),
    refetchInterval: STATS_EVERY,
    placeholderData: keepPreviousData,
  });

export const errorQuery = (fingerprint: string) => ({
  ...ask("get /errors/:fingerprint", { params: { fingerprint } }),
  refetchInterval: STATS_EVERY,
});

export const auditQuery = (query: QueryText<"get /audit">) =>
  queryOptions({ ...ask("get /audit", { query }), placeholderData: keepPreviousData });

/** Each call counts the events of runs that have not settled. */
export const runsQuery = (query: QueryText<"get /runs"> = {}) =>
  queryOptions({
    queryKey: ["runs", query],
    queryFn: ({ signal }) => timed(() => request("get /runs", { query, signal })),
    placeholderData: keepPreviousData,
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

async function timed<Answer>(call: () => Promise<Answer>): Promise<Answer & { tookMs: number }> {
  const began = performance.now();
  return { ...(await call()), tookMs: performance.now() - began };
}
