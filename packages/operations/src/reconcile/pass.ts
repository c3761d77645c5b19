import type { DisagreementKind } from "@millrace/api-contract";
import { MillraceError } from "@millrace/core";
import type { CompareDeps } from "./compare.ts";
import { createCounts, type Found } from "./disagreement.ts";
import { beginEpochs, changedQueues, keepEpochs, type EpochDeps } from "./epochs.ts";
import { repair, type RepairDeps } from "./repair.ts";
import {
  findFinished,
  findEnqueued,
  findPending,
  findNotEnqueued,
  type Finding,
  type FindOptions,
} from "./walk.ts";

/** What a pass works on, and what it calls. */
export type PassDeps = CompareDeps &
  RepairDeps &
  EpochDeps & {
    /** Asked after each page: the pass ends when it throws or resolves to false. */
    readonly mayGoOn: () => Promise<boolean>;
    /** Called with the queues that have changed, before everything is compared with them. */
    readonly onChanged: (sources: readonly string[]) => void;
    /** Called after each page with how far the pass has come. */
    readonly onProgress: (progress: PassProgress) => void;
  };

export interface PassProgress {
  /** Events and jobs looked at. */
  readonly looked: number;
  readonly repaired: number;
}

export interface PassOptions extends FindOptions {
  readonly keysDays: number;
  /** Failed jobs are looked at that ended since. */
  readonly failedSinceMs: number;
  /** Compares every event that has been pending for so many milliseconds, whatever the ledger knows of its job. */
  readonly sweepGraceMs?: number | undefined;
}

/** What a pass found, and what it did about it. */
export interface PassReport extends PassProgress {
  readonly found: ReadonlyMap<DisagreementKind, Found>;
  readonly repairedByKind: ReadonlyMap<DisagreementKind, number>;
  /** Whether everything of some source was compared, and not only what may be amiss. */
  readonly whole: boolean;
  /** Whether events were left because their queues had no capacity. */
  readonly isFull: boolean;
}

const EXAMPLES_MAX = 3;

/**
 * Compares ledger and queues and repairs what they disagree on: of queues that have changed all that is
 * pending, and of the others only what may be amiss. What is repaired leaves the ledger's index of what
 * may be, so that the next pass does not meet it again.
 */
export async function runPass(deps: PassDeps, options: PassOptions): Promise<PassReport> {
  const pass = createPass(deps);
  const { sweepGraceMs } = options;
  const changed = await changedQueues(deps);
  if (changed.length > 0) {
    deps.onChanged(changed);
    const epochs = await beginEpochs(deps, changed);
    const whole = { ...options, sources: changed, graceMs: 0 };
    await pass.repairAll(findPending(deps, whole));
    await pass.repairAll(findFinished(deps, { ...whole, state: "failed", sinceMs: 0 }));
    await pass.repairAll(findFinished(deps, { ...whole, state: "completed", sinceMs: 0 }));
    await keepEpochs(deps, epochs);
  }
  if (sweepGraceMs !== undefined) {
    const swept = { ...options, graceMs: sweepGraceMs };
    await pass.repairAll(findEnqueued(deps, swept));
    await pass.repairAll(findFinished(deps, { ...swept, state: "failed", sinceMs: 0 }));
    await pass.repairAll(findFinished(deps, { ...swept, state: "completed", sinceMs: 0 }));
  }
  const goesOn = (source: string) => deps.capacity.has(source);
  await pass.repairAll(findNotEnqueued(deps, { ...options, goesOn }));
  const failedLately = { ...options, state: "failed", sinceMs: options.failedSinceMs } as const;
  await pass.repairAll(findFinished(deps, failedLately));
  return pass.report({ whole: changed.length > 0 || sweepGraceMs !== undefined });
}

/** Repairs what is found, page by page, and keeps count. */
function createPass(deps: PassDeps): {
  repairAll(findings: AsyncIterable<Finding>): Promise<void>;
  report(how: { whole: boolean }): PassReport;
} {
  const counts = createCounts(EXAMPLES_MAX);
  const repairedByKind = new Map<DisagreementKind, number>();
  let looked = 0;
  let repaired = 0;
  let isFull = false;

  async function repairPage({ found, toMark }: Finding): Promise<void> {
    counts.add(found);
    if (found.length + toMark.length > 0) await deps.capacity.refresh();
    await deps.ledger.repair.markEnqueued(toMark);
    for (const [kind, count] of await repair(deps, found)) {
      repairedByKind.set(kind, (repairedByKind.get(kind) ?? 0) + count);
      repaired += count;
    }
    isFull ||= found.some(
      ({ kind, event }) => kind === "pending_without_job" && !deps.capacity.has(event.source),
    );
  }

  return {
    repairAll: async (findings) => {
      for await (const finding of findings) {
        await repairPage(finding);
        looked += finding.looked;
        deps.onProgress({ looked, repaired });
        if (await deps.mayGoOn()) continue;
        throw new MillraceError("shutting_down", "Cannot go on with the pass: leadership is lost");
      }
    },
    report: ({ whole }) => {
      return { found: counts.found, repairedByKind, looked, repaired, whole, isFull };
    },
  };
}
