import type { EventIdentity } from "@millrace/ledger";
import { inLanes } from "../in-lanes.ts";
import { wakeJobs } from "../put-jobs.ts";
import { addJobs } from "./add-jobs.ts";
import type { Disagreement, DisagreementKind } from "./disagreement.ts";
import type { MendDeps } from "./ports.ts";
import type { Room } from "./room.ts";

/** What a mend works on, and whom it tells. */
export interface Mending extends MendDeps {
  readonly room: Room;
  /** Hears of events that the reconciler has failed for good. */
  readonly onGaveUp: (event: EventIdentity, reason: string) => void;
}

type Mend = (deps: Mending, found: readonly Disagreement[]) => Promise<number>;

/** What is done about each kind; gives how many were mended. Whatever was not is found again. */
const MENDS: Record<DisagreementKind, Mend> = {
  pending_without_job: addJobs,
  pending_job_failed: failEvents,
  pending_retry_unfinished: wake,
  pending_job_completed: wake,
  unrecorded_job_failed: recordFailed,
  unrecorded_job_completed: async () => 0,
};

/** Disagreements that are mended one by one are mended this many at a time. */
const LANES = 8;

/**
 * Makes ledger and queue agree again on what was found; gives how many of each kind. No attempt is
 * counted, and nothing is done twice: two reconcilers at once, or one and a person's retry, end where
 * one of them would have.
 */
export async function mend(
  deps: Mending,
  found: readonly Disagreement[],
): Promise<ReadonlyMap<DisagreementKind, number>> {
  const byKind = new Map<DisagreementKind, Disagreement[]>();
  for (const one of found) {
    const same = byKind.get(one.kind);
    if (same === undefined) byKind.set(one.kind, [one]);
    else same.push(one);
  }
  const mended = new Map<DisagreementKind, number>();
  for (const [kind, same] of byKind) mended.set(kind, await MENDS[kind](deps, same));
  return mended;
}

/** The queue gave the job up, and nobody could tell the ledger. */
async function failEvents(deps: Mending, found: readonly Disagreement[]): Promise<number> {
  const answers = await inLanes(found, LANES, async ({ event, end }) => {
    const message = end?.failedReason ?? NO_REASON;
    const reason = { code: "gave_up", message, run: end?.run ?? "" } as const;
    const became = await deps.ledger.giveUp(keyOf(event), reason);
    if (became === "failed") deps.onGaveUp(event, message);
    return became;
  });
  return count(answers, "failed");
}

const NO_REASON = "the queue gave the job up";

/** The worker died before it could record the event, and the queue gave its job up. */
async function recordFailed(deps: Mending, found: readonly Disagreement[]): Promise<number> {
  const answers = await inLanes(found, LANES, async ({ event, end }) => {
    const job = await deps.queues.findJob(event);
    if (job?.state !== "failed" || job.event === undefined || !deps.isSound(job.event))
      return "gone";
    const message = end?.failedReason ?? NO_REASON;
    const reason = { code: "gave_up", message, run: end?.run ?? "" } as const;
    const became = await deps.ledger.giveUp(job.event, reason);
    if (became === "failed") deps.onGaveUp(event, message);
    return became;
  });
  return count(answers, "failed");
}

/** A retry that died half-way, or a job that completed without its event: it waits again. */
async function wake(deps: Mending, found: readonly Disagreement[]): Promise<number> {
  const events = found.map(({ event }) => event);
  const jobs = await wakeJobs(deps.queues, events, { patient: false });
  await deps.ledger.markEnqueued(events.filter((_, index) => !(jobs[index] instanceof Error)));
  return count(jobs, "woken");
}

function count(answers: readonly unknown[], wanted: string): number {
  return answers.filter((answer) => answer === wanted).length;
}

function keyOf({ source, eventId, generation }: EventIdentity) {
  return { source, eventId, generation };
}
