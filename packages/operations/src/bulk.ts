import { MillraceError, wait } from "@millrace/core";
import type { EventFilter, EventRow } from "@millrace/ledger";
import type { RunAgainQueues, SearchLedger } from "./ports.ts";
import type { RunAgainAnswer } from "./run-again.ts";
import { skipped, type Skip, type Skipped } from "./skip.ts";

/** Which events to run again, and how. */
export interface BulkOptions {
  readonly filter: Omit<EventFilter, "limit" | "cursor">;
  /** Needed where the filter is empty, so that nobody means one event and gets all of them. */
  readonly all?: boolean | undefined;
  /** Events looked at, at most; the newest. */
  readonly limit?: number | undefined;
  /** Counts what would be done, and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Events a second, at most, so that what they call is not overrun. */
  readonly ratePerSecond?: number | undefined;
  /** Cancels what has not begun. */
  readonly signal?: AbortSignal | undefined;
  /** Hears how far it has come, several times a second. */
  readonly onProgress?: ((progress: BulkProgress) => void) | undefined;
}

export interface BulkProgress {
  /** Events that run again, or in a dry run would. */
  readonly done: number;
  readonly skipped: Skipped;
}

export interface BulkResult extends BulkProgress {
  /** Why it ended before the last event: it was cancelled, or Postgres or the queue failed. */
  readonly stopped?: "cancelled" | Error;
}

/** What is done with some events together. */
export type Batch = (
  keys: readonly { source: string; eventId: string; generation: number }[],
  options: { dryRun: boolean },
) => Promise<readonly RunAgainAnswer[]>;

interface Deps {
  readonly ledger: SearchLedger;
  readonly queues: Pick<RunAgainQueues, "queues" | "ping">;
}

/** The ledger gives no more a page, and of what a page holds as little is pending without a job. */
const PAGE = 500;
const BATCH_MAX = 200;
/** Parts of a second that a rate is spread over. */
const BEATS = 5;

/**
 * Does a batch of something with every event of a filter, newest first, page by page, so that the
 * memory it takes does not grow with their number. What comes in meanwhile is not looked at.
 *
 * @throws `invalid_request` for no filter without `all`, `unknown_source` for a source that is not
 * configured. Once it has begun nothing is thrown: the result says how far it came.
 */
export async function runBulk(deps: Deps, options: BulkOptions, batch: Batch): Promise<BulkResult> {
  checkFilter(deps, options);
  const { signal } = options;
  const tally = createTally();
  const pace = createPace(options.ratePerSecond, signal);
  try {
    for await (const rows of batches(deps.ledger, options, pace.size)) {
      await pace.next(tally.done);
      if (signal?.aborted === true) return { ...tally.now(), stopped: "cancelled" };
      await deps.queues.ping();
      const failure = tally.add(await runRows(deps, rows, options, batch));
      options.onProgress?.(tally.now());
      if (failure !== undefined) return { ...tally.now(), stopped: failure };
    }
  } catch (error) {
    return { ...tally.now(), stopped: error instanceof Error ? error : new Error(String(error)) };
  }
  return tally.now();
}

function checkFilter({ queues }: Deps, { filter, all }: BulkOptions): void {
  const isEmpty = Object.values(filter).every((value) => value === undefined);
  if (isEmpty && all !== true) {
    throw new MillraceError(
      "invalid_request",
      "Cannot run all events again without being told so: give a filter, or `all`",
    );
  }
  const { source } = filter;
  if (source === undefined || queues.queues.has(source)) return;
  throw new MillraceError(
    "unknown_source",
    `Cannot run events again: the config has no source ${JSON.stringify(source)}`,
  );
}

/** Events of a source that is not configured would wait for a worker for ever. */
async function runRows(
  { queues }: Deps,
  rows: readonly EventRow[],
  options: BulkOptions,
  batch: Batch,
): Promise<RunAgainAnswer[]> {
  const mine = rows.filter((row) => queues.queues.has(row.source));
  const keys = mine.map(({ source, event_id: eventId, generation }) => ({
    ...{ source, eventId, generation },
  }));
  const answers = await batch(keys, { dryRun: options.dryRun === true });
  const strangers = rows.slice(mine.length).map(() => skipped("unknown_source"));
  return [...answers, ...strangers];
}

async function* batches(
  ledger: SearchLedger,
  { filter, limit = Infinity }: BulkOptions,
  size: number,
): AsyncGenerator<readonly EventRow[]> {
  let left = limit;
  let cursor: string | undefined;
  while (left > 0) {
    const page = await ledger.findEvents({ ...filter, limit: Math.min(left, PAGE), cursor });
    for (let from = 0; from < page.events.length; from += size) {
      yield page.events.slice(from, from + size);
    }
    left -= page.events.length;
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** How many events go together, and when the next may: so many a second, spread evenly. */
function createPace(ratePerSecond: number | undefined, signal: AbortSignal | undefined) {
  if (ratePerSecond === undefined) return { size: BATCH_MAX, next: async () => {} };
  const startedAt = performance.now();
  return {
    size: Math.max(1, Math.min(BATCH_MAX, Math.floor(ratePerSecond / BEATS))),
    next: async (done: number) => {
      const dueAt = startedAt + (done / ratePerSecond) * 1_000;
      const ms = dueAt - performance.now();
      if (ms > 0) await wait(ms, signal);
    },
  };
}

function createTally() {
  let done = 0;
  const counts: Partial<Record<Skip, number>> = {};
  return {
    get done() {
      return done;
    },
    now: (): BulkProgress => ({ done, skipped: { ...counts } }),
    /** Counts the answers, and gives the first failure of a queue among them. */
    add: (answers: readonly RunAgainAnswer[]): Error | undefined => {
      let failure: Error | undefined;
      for (const answer of answers) {
        if (answer.kind === "skipped") counts[answer.reason] = (counts[answer.reason] ?? 0) + 1;
        else done += 1;
        if (answer.kind === "unqueued") failure ??= answer.cause;
      }
      return failure;
    },
  };
}
