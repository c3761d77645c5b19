import { MillraceError } from "@millrace/core";
import type { ServerEpoch } from "@millrace/ledger";
import { removeJobs } from "../give-up.ts";
import { enqueuePending, requeueJobsAtOnce } from "../requeue.ts";
import { findFinished, findPending, type Finding, type FindOptions } from "./compare.ts";
import { addFound, countOne, type FoundByKind } from "./disagreement.ts";
import {
  beginEpochs,
  changedQueues,
  findLedgerChanges,
  keepEpochs,
  keepLedgerEpoch,
  takenBack,
  type LedgerChange,
  type QueueChange,
} from "./epochs.ts";
import { repair, type AbandonNotice, type RepairDeps } from "./repair.ts";

export interface PassDeps extends RepairDeps {
  /** Asked after each page: the pass ends when it is false. */
  readonly mayGoOn: () => boolean;
  readonly notify: (notice: PassNotice) => void;
}

export type PassNotice =
  | AbandonNotice
  /** Everything that is pending is about to be compared with these sources' queues. */
  | { readonly kind: "queue_changed"; readonly changes: ReadonlyMap<string, QueueChange> }
  /** Everything is about to be compared with these queues, which knew another ledger. */
  | { readonly kind: "ledger_changed"; readonly changes: ReadonlyMap<string, LedgerChange> }
  | { readonly kind: "progress"; readonly looked: number; readonly repaired: number };

export interface PassOptions extends FindOptions {
  readonly keysDays: number;
  /** Compares jobs that failed since, and that completed since where the ledger has changed. */
  readonly endedSinceMs: number;
  /** Compares every event that has been pending for so many milliseconds. */
  readonly sweepGraceMs?: number | undefined;
  /** Compares every event that the ledger has as enqueued: its job may have been lost since. */
  readonly recheckEnqueued?: boolean | undefined;
}

export interface PassReport {
  readonly found: FoundByKind;
  readonly looked: number;
  readonly repaired: number;
  readonly whole: boolean;
  readonly changed: boolean;
  readonly server: ServerEpoch;
  /** True when events were left because their queues had no capacity. */
  readonly isFull: boolean;
}

const EXAMPLES_MAX = 3;
const PROGRESS_INTERVAL_MS = 5_000;
/** Milliseconds of comparison after a change of the ledger: longer than a job's lock lasts. */
const SETTLING_MS = 120_000;

/** Where a store changed, compares everything pending and every ended job; else only suspects. */
export async function runPass(deps: PassDeps, options: PassOptions): Promise<PassReport> {
  const pass = createPass(deps);
  const { sweepGraceMs, recheckEnqueued } = options;
  const queueChanges = await changedQueues(deps, options.sources);
  const changedSources = [...queueChanges.keys()];
  const view = await findLedgerChanges(deps, options.sources);
  const { changes } = view;
  if (queueChanges.size > 0) deps.notify({ kind: "queue_changed", changes: queueChanges });
  if (changes.size > 0) deps.notify({ kind: "ledger_changed", changes });
  const whole = [...new Set([...changedSources, ...changes.keys()])];
  const changed = whole.length > 0;
  if (changed) {
    const epochs = await beginEpochs(deps, changedSources);
    const all = { ...options, graceMs: 0, sinceMs: 0 };
    await pass.repairAll(findPending(deps, { ...all, sources: whole, which: "every" }));
    await pass.repairAll(findFinished(deps, { ...all, sources: whole, state: "failed" }));
    for (const source of whole) {
      const completed = { ...all, sources: [source], state: "completed" } as const;
      if (!changes.has(source)) await pass.repairAll(findFinished(deps, completed));
      else if (await pass.runUndone(completed)) {
        const loss = takenBack(view, source);
        if (loss === undefined) continue;
        deps.notify({ kind: "ledger_changed", changes: new Map([[source, loss]]) });
      }
    }
    await keepEpochs(deps, epochs);
  }
  // A worker may have committed before the change, and completed its job after that comparison.
  const sources = [...view.lately]
    .filter(([source, { atMs }]) => !changes.has(source) && Date.now() - atMs < SETTLING_MS)
    .map(([source]) => source);
  const ended = { ...options, graceMs: 0, sinceMs: options.endedSinceMs };
  await pass.runUndone({ ...ended, sources, state: "completed" });
  if (sweepGraceMs !== undefined) {
    const swept = { ...options, graceMs: sweepGraceMs };
    await pass.repairAll(findPending(deps, { ...swept, which: "enqueued" }));
    await pass.repairAll(findFinished(deps, { ...swept, state: "failed", sinceMs: 0 }));
    await pass.repairAll(findFinished(deps, { ...swept, state: "completed", sinceMs: 0 }));
  }
  if (recheckEnqueued === true)
    await pass.repairAll(findPending(deps, { ...options, graceMs: 0, which: "enqueued" }));
  const hasCapacity = (source: string) => deps.capacity.has(source);
  await pass.repairAll(findPending(deps, { ...options, hasCapacity, which: "not_enqueued" }));
  const failedLately = { ...options, state: "failed", sinceMs: options.endedSinceMs } as const;
  await pass.repairAll(findFinished(deps, failedLately));
  await removeGivenUp(deps, options.sources);
  if (deps.queues.backend === "redis") await keepLedgerEpoch(deps, options.sources, view);
  const { server } = view;
  return { ...pass.report(), whole: changed || sweepGraceMs !== undefined, changed, server };
}

/** Joins the reports of passes over different queues: one after the other, and at least one. */
export function mergeReports(reports: readonly PassReport[]): PassReport {
  return reports.reduce((one, other) => ({
    found: addFound(one.found, other.found, EXAMPLES_MAX),
    looked: one.looked + other.looked,
    repaired: one.repaired + other.repaired,
    whole: one.whole || other.whole,
    changed: one.changed || other.changed,
    server: other.server,
    isFull: one.isFull || other.isFull,
  }));
}

const GIVEN_UP_MAX = 1_000;

/** Removes the jobs of events that were given up while their queue was away. */
async function removeGivenUp(
  { ledger, queues, mayGoOn }: PassDeps,
  sources: readonly string[],
): Promise<void> {
  let removed = GIVEN_UP_MAX;
  while (removed === GIVEN_UP_MAX && mayGoOn()) {
    const keys = await ledger.repair.findGivenUpJobs(sources, GIVEN_UP_MAX);
    removed = await removeJobs({ ledger, queues }, keys);
  }
}

function createPass(deps: PassDeps) {
  let counted: FoundByKind = new Map();
  let progressAtMs = performance.now() + PROGRESS_INTERVAL_MS;
  let looked = 0;
  let repaired = 0;
  let isFull = false;

  async function repairPage({ found, toMark, toPromote }: Finding): Promise<void> {
    counted = addFound(counted, found.map(countOne), EXAMPLES_MAX);
    if (found.length + toMark.length > 0) await deps.capacity.refresh();
    await deps.ledger.repair.markEnqueued(toMark);
    await enqueuePending(deps, toPromote, requeueJobsAtOnce);
    for (const [kind, count] of await repair(deps, found)) {
      const repairs = { count: 0, owed: 0, repaired: count, examples: [] };
      counted = addFound(counted, [[kind, repairs]], EXAMPLES_MAX);
      repaired += count;
    }
    isFull ||= found.some(
      (one) => one.kind === "pending_without_job" && !deps.capacity.has(one.event.source),
    );
  }

  async function repairAll(findings: AsyncIterable<Finding>): Promise<void> {
    for await (const finding of findings) {
      await repairPage(finding);
      looked += finding.looked;
      if (performance.now() >= progressAtMs) {
        progressAtMs = performance.now() + PROGRESS_INTERVAL_MS;
        deps.notify({ kind: "progress", looked, repaired });
      }
      if (deps.mayGoOn()) continue;
      throw new MillraceError("shutting_down", "Cannot continue the pass: leadership was lost");
    }
  }

  return {
    repairAll,
    runUndone: async (options: Parameters<typeof findFinished>[1]): Promise<boolean> => {
      // Once: an event that runs again may emit others, whose jobs have completed.
      const before = repaired;
      await repairAll(findFinished(deps, { ...options, wasUndone: true }));
      return repaired > before;
    },
    report: () => ({ found: counted, looked, repaired, isFull }),
  };
}
