import type { DisagreementKind } from "./disagreement.ts";
import { findEnded, findPlaced, findUnplaced, type Finding } from "./find.ts";
import type { CompareDeps } from "./ports.ts";
import { createTally, type Found } from "./tally.ts";

export interface DiagnoseOptions {
  readonly sources: readonly string[];
  /** Milliseconds that an event is left alone after it became pending. */
  readonly graceMs: number;
  readonly keysDays: number;
  /** Events of each kind that are named. */
  readonly examplesMax: number;
  /** Hears how many events and jobs have been looked at. */
  readonly onProgress?: (looked: number) => void;
}

/** All that ledger and queues disagree on. */
export interface Diagnosis {
  readonly found: ReadonlyMap<DisagreementKind, Found>;
  /** Events and jobs that were looked at. */
  readonly looked: number;
  /** Pending events among them. */
  readonly pending: number;
}

/**
 * Compares every pending event and every job that has ended as the reconciler does, and changes nothing.
 *
 * @throws `database_unavailable`, and what the queue throws.
 */
export async function diagnose(deps: CompareDeps, options: DiagnoseOptions): Promise<Diagnosis> {
  const tally = createTally(options.examplesMax);
  let looked = 0;
  const look = async (findings: AsyncIterable<Finding>, counts: (kind: string) => boolean) => {
    for await (const finding of findings) {
      tally.add(finding.found.filter(({ kind }) => counts(kind)));
      looked += finding.looked;
      options.onProgress?.(looked);
    }
  };
  await look(findUnplaced(deps, options), () => true);
  const before = looked;
  await look(findPlaced(deps, options), () => true);
  // It goes through all that is pending, and leaves out those that were compared before.
  const pending = looked - before;
  for (const state of ["failed", "completed"] as const) {
    // What is pending was looked at before, whatever its job.
    const isUnrecorded = (kind: string) => kind.startsWith("unrecorded");
    await look(findEnded(deps, { ...options, state, sinceMs: 0 }), isUnrecorded);
  }
  return { found: tally.found, looked, pending };
}
