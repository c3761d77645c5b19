import type {
  BulkRun,
  BulkVerb,
  RATE_DEFAULT as Rate,
  UNCONFIRMED_MAX as Unconfirmed,
} from "@millrace/api-contract";
import { request } from "../api/request.ts";
import { countOf, formatCount } from "../parts/format.ts";
import type { ListFilter } from "../parts/list-filter.ts";

/** As the API takes it: an empty filter must say that it means all. */
export function bulkBody(verb: BulkVerb, filter: Omit<ListFilter, "last">) {
  const { status, ...rest } = filter;
  // A retry is of failed events unless it says pending, and only pending ones are given up.
  const isAsked = verb === "replay" || (verb === "retry" && status === "pending");
  const narrowed = isAsked && status !== undefined ? { ...rest, status } : rest;
  return Object.keys(narrowed).length === 0 ? { all: true } : narrowed;
}

/** A run of more events must name their number, and so must a run of all. */
const UNCONFIRMED_MAX: typeof Unconfirmed = 1_000;

export const RATE_DEFAULT: typeof Rate = 50;
const RATE_MIN = 0.01;
const RATE_MAX = 1_000_000;

export function confirmation(body: object, count: number): { expected?: number } {
  return "all" in body || count > UNCONFIRMED_MAX ? { expected: count } : {};
}

export function readRate(text: string): number | undefined {
  const rate = text.trim() === "" ? Number.NaN : Number(text);
  return rate >= RATE_MIN && rate <= RATE_MAX ? rate : undefined;
}

/** Empty fields are no limits. Undefined where one cannot be read. */
export function readTrial(canary: string, most: string) {
  if (!/^\d{0,3}$/.test(canary.trim()) || !/^(\d{0,2}|100)$/.test(most.trim())) return undefined;
  return {
    ...(Number(canary) > 0 ? { canary: Number(canary) } : {}),
    ...(most.trim() === "" ? {} : { failed_share_max: Number(most) / 100 }),
  };
}

const PATH = { retry: "retry", replay: "replay", give_up: "give-up" } as const;

export async function countMany(
  verb: BulkVerb,
  body: object,
  signal: AbortSignal,
): Promise<BulkCounts> {
  const answer = await request(`post /${PATH[verb]}`, { body: { ...body, dryRun: true }, signal });
  return "run" in answer ? { skipped: {} } : answer;
}

export async function startMany(verb: BulkVerb, body: object): Promise<BulkRun | undefined> {
  const answer = await request(`post /${PATH[verb]}`, { body });
  return "run" in answer ? answer.run : undefined;
}

type BulkCounts = Pick<BulkRun, "skipped"> & {
  readonly [Key in "retried" | "replayed" | "given_up" | "more_than"]?: number | undefined;
};

export const doneOf = ({ retried, replayed, given_up }: BulkCounts): number =>
  retried ?? replayed ?? given_up ?? 0;

/** A real run looks at no more events than the dry run found. */
export const lookedAt = (result: BulkCounts): number =>
  doneOf(result) + Object.values(result.skipped).reduce((sum, count) => sum + count, 0);

export const isOpen = ({ state }: Pick<BulkRun, "state">): boolean =>
  state === "running" || state === "paused";

/** `120 of 8,213 events reached`; the whole is not known where it was too many to count. */
export function progressText({ listed, total }: BulkRun): string {
  if (total === null) return `${countOf(listed, "event")} reached, of more than 100,000`;
  return `${formatCount(listed)} of ${countOf(total, "event")} reached`;
}

export const RUN_EVERY = 1_000;
/** So that counting a run takes a tenth of the time at most. */
const REST = 10;

/** Milliseconds until the next reading; false when the run can no longer change. */
export function restOf(
  run: Pick<BulkRun, "state"> & { readonly results: Pick<BulkRun["results"], "pending"> },
  tookMs: number,
): number | false {
  return isOpen(run) || run.results.pending > 0 ? Math.max(RUN_EVERY, REST * tookMs) : false;
}
