import type { AnswerOf } from "@millrace/api-contract";
import { request } from "../api/request.ts";
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
export function runMany(verb: Verb, body: object, signal: AbortSignal): Promise<RunAgainCounts> {
  // The filter's values are as somebody typed them: whether they are any is the API's to say.
  return request(`post /${verb}`, { body, signal });
}

type Retried = AnswerOf<"post /retry">;
type Replayed = AnswerOf<"post /replay">;

/** How many events were run again, by one verb or the other, and why the others were not. */
type RunAgainCounts = Pick<Retried, "skipped"> &
  Partial<Pick<Retried, "retried"> & Pick<Replayed, "replayed">>;

/** How many events were, or would be, run again. */
export const doneOf = ({ retried, replayed }: RunAgainCounts): number => retried ?? replayed ?? 0;

/** How many events a dry run came by. No more are looked at when it is meant, whatever comes meanwhile. */
export const lookedAt = (result: RunAgainCounts): number =>
  doneOf(result) + Object.values(result.skipped).reduce((sum, count) => sum + count, 0);
