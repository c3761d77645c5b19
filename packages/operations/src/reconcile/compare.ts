import type { EnvelopedEvent } from "@millrace/core";
import { isDataError, type LedgerStatus } from "@millrace/ledger";
import type { FinishedFrom, FinishedJob, FinishedJobs, JobProblem } from "@millrace/queue";
import pMap from "p-map";
import type {
  CompareDeps,
  Disagreement,
  EventDisagreementKind,
  Stores,
  UnreadableJob,
} from "./disagreement.ts";
import { disagreementOf } from "./repair.ts";

/** Called after an error: throws when a store is away, so that the fault is not one queue's. */
export async function requireStores({ ledger, queues }: Stores): Promise<void> {
  await queues.ping();
  await ledger.repair.serverEpoch();
}

export interface Finding {
  readonly found: readonly Disagreement[];
  /** Pending events with a job on its way that the ledger does not know to be enqueued. */
  readonly toMark: readonly EnvelopedEvent[];
  /** Those of them that failed and wait for no time: a retry may have been cut off. */
  readonly toPromote: readonly EnvelopedEvent[];
  readonly looked: number;
}

export interface FindOptions {
  readonly sources: readonly string[];
  readonly graceMs: number;
  readonly pageMax?: number | undefined;
}

/** Pending events that are read at once, of all sources together. */
export const PAGE_MAX = 1_000;

interface PendingOptions extends FindOptions {
  /** `every` where a queue may have lost jobs: an ingress may write `enqueued_at` after that. */
  readonly which: "every" | "enqueued" | "not_enqueued";
  /** Asked before each page of a source but the first: whether to go on with the source. */
  readonly hasCapacity?: (source: string) => boolean;
}

/** Reads the oldest pending events, some of each source in turn, so that none waits for another. */
export async function* findPending(
  deps: CompareDeps,
  { sources, hasCapacity = () => true, pageMax = PAGE_MAX, which, graceMs }: PendingOptions,
): AsyncGenerator<Finding> {
  const query = { which: which === "not_enqueued" ? which : ("every" as const), graceMs };
  let left = new Map<string, LedgerStatus | undefined>(
    sources.map((source) => [source, undefined]),
  );
  while (left.size > 0) {
    const limit = Math.ceil(pageMax / left.size);
    const cursors = [...left].map(([source, after]) => ({ source, after, limit }));
    const page = await deps.ledger.repair.pendingPage(cursors, query);
    if (page.length > 0) {
      const rows = which === "enqueued" ? page.filter((row) => row.enqueued) : page;
      yield { ...(await comparePending(deps, rows)), looked: page.length };
    }
    const unfinished = [...left.keys()].flatMap((source) => {
      const own = page.filter(({ event }) => event.source === source);
      const isMore = own.length === limit && hasCapacity(source);
      return isMore ? [[source, own.at(-1)] as const] : [];
    });
    left = new Map(unfinished);
  }
}

async function comparePending({ ledger, queues }: Stores, pending: readonly LedgerStatus[]) {
  const jobs = await queues.jobStatuses(pending.map(({ event }) => event));
  const found: Disagreement[] = [];
  const toMark: EnvelopedEvent[] = [];
  const toPromote: EnvelopedEvent[] = [];
  const ended: LedgerStatus[] = [];
  for (const [index, row] of pending.entries()) {
    const { event, enqueued, dueInMs, errorCode } = row;
    const job = jobs[index];
    if (job === undefined) {
      found.push({ kind: "pending_without_job", event, end: undefined, enqueued, dueInMs });
    } else if (job.state !== "live") {
      ended.push(row);
    } else if (!enqueued) {
      (errorCode !== null && dueInMs === 0 ? toPromote : toMark).push(event);
    }
  }
  found.push(...(await compareEnded({ ledger, queues }, ended)));
  return { found, toMark, toPromote };
}

/** An event is settled before its job ends, so the ledger is asked again, after the queue. */
async function compareEnded(
  { ledger, queues }: Stores,
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
    return [{ kind, event: row.event, end, enqueued: row.enqueued, dueInMs: row.dueInMs }];
  });
}

interface FinishedWalk {
  readonly source: string;
  readonly state: "failed" | "completed";
  readonly sinceMs: number;
  /** Milliseconds that an end is left alone, because a worker or a retry may be at it. */
  readonly graceMs: number;
  /** Days that a completed event is remembered. An older job says nothing of the ledger. */
  readonly keysDays: number;
  /** True when Postgres has changed: it may have lost the completion of an event. */
  readonly wasUndone?: boolean | undefined;
}

const CONCURRENCY = 8;
const DAY_MS = 86_400_000;

export async function* findFinished(
  deps: CompareDeps,
  { sources, ...walk }: Omit<FinishedWalk, "source"> & Pick<FindOptions, "sources">,
): AsyncGenerator<Finding> {
  for (const source of sources) yield* compareFinished(deps, { ...walk, source });
}

/** A job that runs again leaves its page, so the next page begins with the last millisecond. */
async function* compareFinished(deps: CompareDeps, walk: FinishedWalk): AsyncGenerator<Finding> {
  const { source, state, sinceMs } = walk;
  let from: FinishedFrom | undefined = { atMs: sinceMs, skip: 0 };
  let known: ReadonlySet<string> = new Set();
  while (from !== undefined) {
    const { jobs, next }: FinishedJobs = await deps.queues.finishedJobs(source, state, from);
    const fresh = jobs.filter(({ jobId }) => !known.has(jobId));
    const found = await comparePage(deps, fresh, walk);
    yield { found, toMark: [], toPromote: [], looked: fresh.length };
    // Behind a page of one millisecond alone, the walk goes on by number.
    const lastMs = next?.atMs;
    from = lastMs === undefined || lastMs === from.atMs ? next : { atMs: lastMs, skip: 0 };
    known = new Set(jobs.filter((job) => job.finishedAtMs === lastMs).map(({ jobId }) => jobId));
  }
}

type ReadableJob = FinishedJob & { readonly event: EnvelopedEvent };

async function comparePage(
  deps: CompareDeps,
  jobs: readonly FinishedJob[],
  walk: FinishedWalk,
): Promise<Disagreement[]> {
  const readable = jobs.filter((job): job is ReadableJob => job.event !== undefined);
  const looked = readable.length === 0 ? [] : await lookUp(deps, readable, walk);
  const compare = (one: (typeof looked)[number]) =>
    "kind" in one ? one : compareOne(deps, one, walk);
  const compared = await pMap(looked, compare, { concurrency: CONCURRENCY });
  const found = compared.filter((one) => one !== undefined);
  return [...found, ...jobs.flatMap((job) => findUnreadable(job, walk))];
}

interface LookedUp {
  readonly job: ReadableJob;
  readonly row: LedgerStatus | undefined;
}

/** Looks rows up together, or one by one where Postgres refuses the identity of one of them. */
async function lookUp(
  deps: Stores,
  jobs: readonly ReadableJob[],
  walk: FinishedWalk,
): Promise<(LookedUp | UnreadableJob)[]> {
  try {
    const rows = await deps.ledger.repair.ledgerStatuses(jobs.map(({ event }) => event));
    return jobs.map((job, index) => ({ job, row: rows[index] }));
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (jobs.length === 1) return jobs.map((only) => unreadable(only, walk, REFUSED_BY_POSTGRES));
    const singly: (LookedUp | UnreadableJob)[] = [];
    for (const job of jobs) singly.push(...(await lookUp(deps, [job], walk)));
    return singly;
  }
}

function findUnreadable(job: FinishedJob, walk: FinishedWalk): UnreadableJob[] {
  const { problem, failedReason } = job;
  if (problem === undefined) return [];
  // A job of a later version is for its own reconciler, unless this version gave it up.
  const isOfLaterBuild = problem.code === LATER && failedReason?.startsWith(LATER) !== true;
  return isOfLaterBuild || problem.code === "foreign_job" ? [] : [unreadable(job, walk, problem)];
}

const LATER = "unknown_envelope_version";

function unreadable(
  { jobId }: FinishedJob,
  { source }: FinishedWalk,
  problem: JobProblem,
): UnreadableJob {
  return { kind: "unreadable_job", source, jobId, problem };
}

async function compareOne(
  deps: CompareDeps,
  { job, row }: LookedUp,
  walk: FinishedWalk,
): Promise<Disagreement | undefined> {
  const kind = disagreementOf(row, { ...job, state: walk.state });
  // A worker is about to report a job that it abandoned; a retry is about to requeue it.
  const sinceMs = row === undefined ? Date.now() - job.finishedAtMs : row.pendingForMs;
  if (kind === undefined || sinceMs < walk.graceMs) return undefined;
  if (row !== undefined) return { kind, event: row.event, end: job, enqueued: row.enqueued };
  return await compareUnrecorded(deps, job, walk);
}

const REFUSED_BY_POSTGRES: JobProblem = {
  code: "invalid_envelope",
  message: "Cannot look the event up: Postgres refuses its identity",
};
/** The page could read the identity of the job, but its body cannot be read. */
const NOT_JSON: JobProblem = {
  code: "invalid_envelope",
  message: "Cannot read job data: it is not an envelope as a whole",
};

/** A job without a valid MAC is shown, and never recorded. */
async function compareUnrecorded(
  { queues, isSound }: CompareDeps,
  job: ReadableJob,
  walk: FinishedWalk,
): Promise<Disagreement | undefined> {
  const { event, mac } = job;
  const found = (kind: EventDisagreementKind) => ({ kind, event, end: job, enqueued: false });
  if (mac !== undefined) return found("unrecorded_job_unsigned");
  if (event.acceptedAtMs < Date.now() - walk.keysDays * DAY_MS) return undefined;
  if (walk.state === "completed") {
    return found(walk.wasUndone === true ? "unrecorded_job_undone" : "unrecorded_job_completed");
  }
  const whole = await queues.findJob(event);
  if (whole?.state !== "failed") return undefined;
  if (whole.event === undefined) return unreadable(job, walk, NOT_JSON);
  if (whole.mac !== undefined) return found("unrecorded_job_unsigned");
  return isSound(whole.event) ? found("unrecorded_job_failed") : undefined;
}
