import { request } from "../api/request.ts";
import type { RunAgainResult } from "../api/types.ts";
import type { ListFilter } from "./list-filter.ts";

/** What is done with an event once more. */
export type Verb = "retry" | "replay";

/** The filter as `POST /api/retry` and `/api/replay` take it: none at all has to be said. */
export function bulkBody(verb: Verb, filter: Omit<ListFilter, "last">) {
  const { status, ...rest } = filter;
  // Only failed events are retried, so their status narrows nothing there.
  const narrowed = verb === "retry" || status === undefined ? rest : { ...rest, status };
  return Object.keys(narrowed).length === 0 ? { all: true } : narrowed;
}

/** Retries or replays many, or in a dry run counts them. */
export function runMany(verb: Verb, body: object, signal: AbortSignal): Promise<RunAgainResult> {
  return request<RunAgainResult>(`/api/${verb}`, { method: "POST", body, signal });
}

/** How many events were, or would be, run again. */
export const doneOf = ({ retried, replayed }: RunAgainResult): number => retried ?? replayed ?? 0;

/** How many events a dry run came by. No more are looked at when it is meant, whatever comes meanwhile. */
export const lookedAt = (result: RunAgainResult): number =>
  doneOf(result) + Object.values(result.skipped).reduce((sum, count) => sum + count, 0);
