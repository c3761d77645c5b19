import type { EnvelopedEvent } from "@millrace/core";
import type { Ledger, LedgerStatus } from "@millrace/ledger";
import type { FinishedFrom, FinishedJob, Queues } from "@millrace/queue";
import { mapConcurrent } from "../map-concurrent.ts";
import { disagreementOf, type Disagreement } from "./disagreement.ts";

/** What it takes to compare ledger and queues. Nothing is written to either. */
export interface CompareDeps {
  readonly ledger: Pick<Ledger, "repair">;
  readonly queues: Pick<Queues, "queues" | "jobStatuses" | "finishedJobs" | "findJob">;
  /** Whether what a job says can be recorded: a person may have edited it, or made it up. */
  readonly isSound: (event: EnvelopedEvent) => boolean;
}

/** Compares pending events with their jobs. */
export async function comparePending(
  { ledger, queues }: CompareDeps,
  pending: readonly LedgerStatus[],
): Promise<{
  readonly found: readonly Disagreement[];
  /** Events with a job on its way that the ledger does not know to be enqueued. */
  readonly toMark: readonly EnvelopedEvent[];
}> {
  const jobs = await queues.jobStatuses(pending.map(({ event }) => event));
  const found: Disagreement[] = [];
  const toMark: EnvelopedEvent[] = [];
  const ended: LedgerStatus[] = [];
  for (const [index, row] of pending.entries()) {
    const { event, enqueued } = row;
    const job = jobs[index];
    if (job === undefined) {
      found.push({ kind: "pending_without_job", event, end: undefined, enqueued });
    } else if (job.state !== "live") {
      ended.push(row);
    } else if (!enqueued) {
      toMark.push(event);
    }
  }
  return { found: [...found, ...(await compareEnded({ ledger, queues }, ended))], toMark };
}

/**
 * An event is settled in the ledger first and its job ends after that, so that a pending event whose job
 * has ended may be settled by now: the ledger is asked once more, after the queue.
 */
async function compareEnded(
  { ledger, queues }: Pick<CompareDeps, "ledger" | "queues">,
  pending: readonly LedgerStatus[],
): Promise<Disagreement[]> {
  if (pending.length === 0) return [];
  const keys = pending.map(({ event }) => event);
  const jobs = await queues.jobStatuses(keys);
  const rows = await ledger.repair.ledgerStatuses(keys);
  return rows.flatMap((row, index) => {
    const job = jobs[index];
    const kind = row && disagreementOf(row, job);
    if (row === undefined || kind === undefined) return [];
    const end = job?.state === "live" ? undefined : job;
    return [{ kind, event: row.event, end, enqueued: row.enqueued }];
  });
}

/** Which of the jobs that have ended are compared. */
export interface FinishedWalk {
  readonly source: string;
  readonly state: "failed" | "completed";
  /** Those that ended from then on. */
  readonly sinceMs: number;
  /** Milliseconds that an event or an end is left alone, because a worker or a retry is still at it. */
  readonly graceMs: number;
  /** Days that a completed event is remembered. An older job says nothing of the ledger. */
  readonly keysDays: number;
}

/** Jobs that are read with their bodies at once. */
const CONCURRENCY = 8;
const DAY_MS = 86_400_000;

/** Compares jobs that have ended with their events, a page at a time; says how many each page had. */
export async function* compareFinished(
  deps: CompareDeps,
  walk: FinishedWalk,
): AsyncGenerator<{ readonly found: readonly Disagreement[]; readonly looked: number }> {
  let from: FinishedFrom | undefined = { atMs: walk.sinceMs, skip: 0 };
  while (from !== undefined) {
    const page = await deps.queues.finishedJobs(walk.source, walk.state, from);
    yield { found: await comparePage(deps, page.jobs, walk), looked: page.jobs.length };
    from = page.next;
  }
}

type OurJob = FinishedJob & { readonly event: EnvelopedEvent };

async function comparePage(
  deps: CompareDeps,
  jobs: readonly FinishedJob[],
  walk: FinishedWalk,
): Promise<Disagreement[]> {
  const ours = jobs.filter((job): job is OurJob => job.event !== undefined);
  if (ours.length === 0) return [];
  const rows = await deps.ledger.repair.ledgerStatuses(ours.map(({ event }) => event));
  const pairs = ours.map((job, index) => ({ job, row: rows[index] }));
  const compared = await mapConcurrent(pairs, CONCURRENCY, (pair) => compareOne(deps, pair, walk));
  return compared.filter((found) => {
    if (found instanceof Error) throw found;
    return found !== undefined;
  });
}

async function compareOne(
  deps: CompareDeps,
  { job, row }: { job: OurJob; row: LedgerStatus | undefined },
  walk: FinishedWalk,
): Promise<Disagreement | undefined> {
  const { event } = job;
  const kind = disagreementOf(row, { ...job, state: walk.state });
  if (kind === undefined || isFresh(job, row, walk)) return undefined;
  if (row === undefined && !(await isEvent(deps, event, walk))) return undefined;
  return { kind, event: row?.event ?? event, end: job, enqueued: row?.enqueued ?? false };
}

/** A worker is about to report a job that it abandoned; a retry is about to requeue it. */
function isFresh(
  job: FinishedJob,
  row: LedgerStatus | undefined,
  { graceMs }: FinishedWalk,
): boolean {
  return row === undefined ? Date.now() - job.finishedAtMs < graceMs : row.pendingForMs < graceMs;
}

/** Whether a job that the ledger does not know is of an event that it should know. */
async function isEvent(
  { queues, isSound }: CompareDeps,
  event: EnvelopedEvent,
  walk: FinishedWalk,
): Promise<boolean> {
  if (event.acceptedAtMs < Date.now() - walk.keysDays * DAY_MS) return false;
  if (walk.state === "completed") return true;
  const job = await queues.findJob(event);
  return job?.state === "failed" && job.event !== undefined && isSound(job.event);
}
