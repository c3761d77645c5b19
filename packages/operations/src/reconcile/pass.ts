import { MillraceError } from "@millrace/core";
import type { DisagreementKind } from "./disagreement.ts";
import { beginEpochs, changedQueues, keepEpochs } from "./epochs.ts";
import { findEnded, findPlaced, findUnplaced, type Finding, type FindOptions } from "./find.ts";
import { mend, type Mending } from "./mend.ts";
import { createTally, type Found } from "./tally.ts";

/** What a pass works on, and whom it tells. */
export interface PassDeps extends Mending {
  /** Asked after each page: the pass ends when it throws or gives false. */
  readonly mayGoOn: () => Promise<boolean>;
  /** Hears of queues that have changed, before everything is compared with them. */
  readonly onChanged: (sources: readonly string[]) => void;
  /** Hears how far a pass has come, after each page. */
  readonly onProgress: (progress: PassProgress) => void;
}

export interface PassProgress {
  /** Events and jobs looked at. */
  readonly looked: number;
  readonly mended: number;
}

export interface PassOptions {
  readonly sources: readonly string[];
  /** Milliseconds that an event must have been pending before it is looked into. */
  readonly graceMs: number;
  readonly keysDays: number;
  /** Failed jobs are looked at that ended since. */
  readonly failedSinceMs: number;
  /** Looks at every event that has been pending for so many milliseconds, whatever is known of it. */
  readonly sweepGraceMs?: number | undefined;
}

/** What a pass found, and what it did about it. */
export interface PassReport extends PassProgress {
  readonly found: ReadonlyMap<DisagreementKind, Found>;
  readonly mendedByKind: ReadonlyMap<DisagreementKind, number>;
  /** Whether everything of some source was compared, and not only what may be amiss. */
  readonly whole: boolean;
  /** Whether events were left for lack of room in their queues. */
  readonly isFull: boolean;
}

const EXAMPLES_MAX = 3;

/**
 * Compares ledger and queues and mends what they disagree on: of queues that have changed all that is
 * pending, and of the others only what may be amiss. What is mended leaves the ledger's index of what
 * may be, so that the next pass does not meet it again.
 */
export async function runPass(deps: PassDeps, options: PassOptions): Promise<PassReport> {
  const work = createWork(deps);
  const changed = await changedQueues(deps);
  if (changed.length > 0) {
    deps.onChanged(changed);
    const begun = await beginEpochs(deps, changed);
    await compareAll(deps, work, { ...options, sources: changed, graceMs: 0 });
    await keepEpochs(deps, begun);
  }
  const { sweepGraceMs } = options;
  if (sweepGraceMs !== undefined) {
    await compareAll(deps, work, { ...options, graceMs: sweepGraceMs });
  }
  const goesOn = (source: string) => deps.room.has(source);
  await work(findUnplaced(deps, { ...options, goesOn }));
  await work(findEnded(deps, { ...options, state: "failed", sinceMs: options.failedSinceMs }));
  return work.report(changed.length > 0 || sweepGraceMs !== undefined);
}

type Work = ReturnType<typeof createWork>;

/** All that is pending, and every job that has ended. */
async function compareAll(
  deps: PassDeps,
  work: Work,
  options: FindOptions & Pick<PassOptions, "keysDays">,
): Promise<void> {
  await work(findPlaced(deps, options));
  for (const state of ["failed", "completed"] as const) {
    await work(findEnded(deps, { ...options, state, sinceMs: 0 }));
  }
}

/** Mends what is found, page by page, and keeps count. */
function createWork(deps: PassDeps) {
  const tally = createTally(EXAMPLES_MAX);
  const mendedByKind = new Map<DisagreementKind, number>();
  let looked = 0;
  let mended = 0;
  let isFull = false;

  async function work(findings: AsyncIterable<Finding>): Promise<void> {
    for await (const finding of findings) {
      tally.add(finding.found);
      if (finding.found.length + finding.unmarked.length > 0) await deps.room.refresh();
      await deps.ledger.markEnqueued(finding.unmarked);
      for (const [kind, count] of await mend(deps, finding.found)) {
        mendedByKind.set(kind, (mendedByKind.get(kind) ?? 0) + count);
        mended += count;
      }
      isFull ||= finding.found.some(
        ({ kind, event }) => kind === "pending_without_job" && !deps.room.has(event.source),
      );
      looked += finding.looked;
      deps.onProgress({ looked, mended });
      if (await deps.mayGoOn()) continue;
      throw new MillraceError("shutting_down", "Cannot go on with the pass: the lead is lost");
    }
  }
  const report = (whole: boolean): PassReport => ({
    ...{ found: tally.found, mendedByKind, looked, mended, whole, isFull },
  });
  return Object.assign(work, { report });
}
