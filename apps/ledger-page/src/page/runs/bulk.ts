import type {
  BulkRun,
  BulkVerb,
  RATE_DEFAULT as Rate,
  UNCONFIRMED_MAX as Unconfirmed,
} from "@millrace/api-contract";
import { request } from "../api/request.ts";
import type { ListFilter } from "../parts/list-filter.ts";

/**
 * The filter as `POST /api/retry`, `/api/replay`, and `/api/give-up` take it: none at all has to be
 * said.
 */
export function bulkBody(verb: BulkVerb, filter: Omit<ListFilter, "last">) {
  const { status, ...rest } = filter;
  // Only failed events are retried, and only pending ones given up, so their status narrows nothing
  // there.
  const narrowed = verb !== "replay" || status === undefined ? rest : { ...rest, status };
  return Object.keys(narrowed).length === 0 ? { all: true } : narrowed;
}

/** Above this number of events a run needs it, whatever the filter. */
const UNCONFIRMED_MAX: typeof Unconfirmed = 1_000;

/** Events per second of a run that names no rate. */
export const RATE_DEFAULT: typeof Rate = 50;
const RATE_MIN = 0.01;
const RATE_MAX = 1_000_000;

/** The number of events, which a run of all events or of many must name. */
export function confirmation(body: object, count: number): { expected?: number } {
  return "all" in body || count > UNCONFIRMED_MAX ? { expected: count } : {};
}

/** Reads events per second as somebody typed them; undefined for what cannot be a rate. */
export function readRate(text: string): number | undefined {
  const rate = text.trim() === "" ? Number.NaN : Number(text);
  return rate >= RATE_MIN && rate <= RATE_MAX ? rate : undefined;
}

const PATH = { retry: "retry", replay: "replay", give_up: "give-up" } as const;

/** Counts what would be retried, replayed, or given up. */
export async function countMany(
  verb: BulkVerb,
  body: object,
  signal: AbortSignal,
): Promise<BulkCounts> {
  // The filter's values are as somebody typed them: whether they are any is the API's to say.
  const answer = await request(`post /${PATH[verb]}`, { body: { ...body, dryRun: true }, signal });
  return "run" in answer ? { skipped: {} } : answer;
}

/** Starts the run that retries, replays, or gives up many. */
export async function startMany(verb: BulkVerb, body: object): Promise<BulkRun | undefined> {
  const answer = await request(`post /${PATH[verb]}`, { body });
  return "run" in answer ? answer.run : undefined;
}

/** The number of events that a run would reach, by its verb, and the reasons to skip others. */
interface BulkCounts {
  readonly skipped: Readonly<Record<string, number>>;
  readonly retried?: number;
  readonly replayed?: number;
  readonly given_up?: number;
  /** Given if more events match than are counted. */
  readonly more_than?: number | undefined;
}

/** The number of events that would be run again, or given up. */
export const doneOf = ({ retried, replayed, given_up: givenUp }: BulkCounts): number =>
  retried ?? replayed ?? givenUp ?? 0;

/** The number of events that a dry run found. A real run looks at no more of them. */
export const lookedAt = (result: BulkCounts): number =>
  doneOf(result) + Object.values(result.skipped).reduce((sum, count) => sum + count, 0);
