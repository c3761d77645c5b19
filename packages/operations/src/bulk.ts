import type { EventRow } from "@millrace/api-contract";
import { asError, MillraceError, wait, type EventKey } from "@millrace/core";
import type { EventFilter, Ledger } from "@millrace/ledger";
import { skipped, type RunAgainAnswer, type RunAgainQueues, type Skip } from "./run-again.ts";

/** What finding the events of a filter needs of the ledger. */
export interface SearchLedger {
  readonly reads: Pick<Ledger["reads"], "findEvents">;
}

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
  /** Called with how far it has come, several times a second. */
  readonly onProgress?: ((progress: BulkProgress) => void) | undefined;
}

export interface BulkProgress {
  /** Events that run again, or in a dry run would. */
  readonly done: number;
  /** How many events were not run again, by reason. */
  readonly skipped: Readonly<Partial<Record<Skip, number>>>;
}

export interface BulkResult extends BulkProgress {
  /** Why it ended before the last event: it was cancelled, or Postgres or the queue failed. */
  readonly stopped?: "cancelled" | Error;
}

/** What is done with some events together: one answer a key. */
type RunBatch = (
  keys: readonly EventKey[],
  options: { dryRun: boolean },
) => Promise<readonly RunAgainAnswer[]>;

interface Deps {
  readonly ledger: SearchLedger;
  readonly queues: Pick<RunAgainQueues, "queues" | "ping">;
}

/** The most events that the ledger gives in one page. */
const PAGE_MAX = 500;
/** If a batch is cut off between the ledger and the queue, no more than this many wait for the reconciler. */
const BATCH_MAX = 200;
/** Batches a second that a rate is spread over. */
const BATCHES_PER_SECOND = 5;

/**
 * Runs batches of every event of a filter, newest first, page by page, so that the memory it takes does
 * not grow with their number. Events that arrive meanwhile are left out.
 *
 * @throws `invalid_request` for no filter without `all`, `unknown_source` for a source that is not
 * configured. Once it has begun nothing is thrown: the result says how far it came.
 */
export async function runBulk(
  deps: Deps,
  options: BulkOptions,
  runBatch: RunBatch,
): Promise<BulkResult> {
  checkFilter(deps, options);
  const { signal } = options;
  const counts = createCounts();
  const pace = createPace(options.ratePerSecond, signal);
  try {
    for await (const rows of batches(deps.ledger, options, pace.size)) {
      await pace.next(counts.done);
      if (signal?.aborted === true) return { ...counts.now(), stopped: "cancelled" };
      await deps.queues.ping();
      const failure = counts.add(await runRows(deps, rows, options, runBatch));
      options.onProgress?.(counts.now());
      if (failure !== undefined) return { ...counts.now(), stopped: failure };
    }
  } catch (error) {
    return { ...counts.now(), stopped: asError(error) };
  }
  return counts.now();
}

function checkFilter({ queues }: Deps, { filter, all }: BulkOptions): void {
  const isEmpty = Object.values(filter).every((value) => value === undefined);
  if (isEmpty && all !== true) {
    throw new MillraceError(
      "invalid_request",
      "Cannot run all events again without confirmation: give a filter, or `all`",
    );
  }
  const { source } = filter;
  if (source === undefined || queues.queues.has(source)) return;
  throw new MillraceError(
    "unknown_source",
    `Cannot run events again: the config has no source ${JSON.stringify(source)}`,
  );
}

/** Events of a source that is not configured would wait for a worker forever, so they are skipped. */
async function runRows(
  { queues }: Deps,
  rows: readonly EventRow[],
  options: BulkOptions,
  runBatch: RunBatch,
): Promise<RunAgainAnswer[]> {
  const configured = rows.filter((row) => queues.queues.has(row.source));
  const keys = configured.map(({ source, event_id, generation }) => {
    return { source, eventId: event_id, generation };
  });
  const answers = await runBatch(keys, { dryRun: options.dryRun === true });
  const others = rows.slice(configured.length).map(() => skipped("unknown_source"));
  return [...answers, ...others];
}

async function* batches(
  ledger: SearchLedger,
  { filter, limit = Infinity }: BulkOptions,
  size: number,
): AsyncGenerator<readonly EventRow[]> {
  let left = limit;
  let cursor: string | undefined;
  while (left > 0) {
    const page = await ledger.reads.findEvents({
      ...filter,
      limit: Math.min(left, PAGE_MAX),
      cursor,
    });
    for (let from = 0; from < page.events.length; from += size) {
      yield page.events.slice(from, from + size);
    }
    left -= page.events.length;
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** How many events go together, and when the next batch may: so many events a second, spread evenly. */
function createPace(ratePerSecond: number | undefined, signal: AbortSignal | undefined) {
  if (ratePerSecond === undefined) return { size: BATCH_MAX, next: async () => {} };
  const startedAt = performance.now();
  return {
    size: Math.max(1, Math.min(BATCH_MAX, Math.floor(ratePerSecond / BATCHES_PER_SECOND))),
    next: async (done: number) => {
      const dueAt = startedAt + (done / ratePerSecond) * 1_000;
      const ms = dueAt - performance.now();
      if (ms > 0) await wait(ms, signal);
    },
  };
}

function createCounts() {
  let done = 0;
  const skips: Partial<Record<Skip, number>> = {};
  return {
    get done() {
      return done;
    },
    now: (): BulkProgress => ({ done, skipped: { ...skips } }),
    /** Counts the answers, and returns the first failure of a queue among them. */
    add: (answers: readonly RunAgainAnswer[]): Error | undefined => {
      let failure: Error | undefined;
      for (const answer of answers) {
        if (answer.kind === "skipped") skips[answer.reason] = (skips[answer.reason] ?? 0) + 1;
        else done += 1;
        if (answer.kind === "unqueued") failure ??= answer.cause;
      }
      return failure;
    },
  };
}
