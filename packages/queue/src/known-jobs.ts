import type { Placement } from "@millrace/core";
import type { AddOptions, NewJob } from "./backend.ts";

/** What a queue has of a job before it is added again. */
export interface KnownJob {
  /** Of the event that it keeps; undefined when its data was edited into something else. */
  readonly bodyHash: string | undefined;
  readonly failed: boolean;
}

/** The first job of each id: of several, the queue keeps that one. */
export function firstOfEach(jobs: readonly NewJob[]): readonly NewJob[] {
  return [...new Map(jobs.toReversed().map((job) => [job.id, job])).values()].toReversed();
}

/** What is answered for each job, by what was known of its id, or has come with it earlier. */
export function placementsOf(
  jobs: readonly NewJob[],
  known: ReadonlyMap<string, KnownJob>,
  { exact }: AddOptions,
): readonly Placement[] {
  const kept = new Map(known);
  return jobs.map(({ id, data }) => {
    const before = kept.get(id);
    if (before === undefined) {
      kept.set(id, { bodyHash: data.body_hash, failed: false });
      return "accepted";
    }
    if (!exact) return "duplicate";
    if (before.bodyHash !== undefined && before.bodyHash !== data.body_hash) return "conflict";
    return before.failed ? "failed" : "duplicate";
  });
}
