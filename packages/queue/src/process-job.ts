import {
  failpoint,
  isMillraceError,
  readEnvelope,
  type EnvelopedEvent,
  type ErrorCode,
  type JobResult,
  type ReadEnvelope,
  LazySignal,
  MillraceError,
  settlesWithin,
  type StopSignal,
} from "@millrace/core";
import { UnrecoverableError, type Job } from "bullmq";
import { JOB_OPTIONS, addedAt, isForeign, jobId, keepingName, runName } from "./jobs.ts";
import type { Backend } from "./backend.ts";
import type { ReportError } from "./notices.ts";
import type { QueuesOptions, WorkOptions } from "./queues.ts";

export interface WorkDeps extends Pick<QueuesOptions, "sources" | "notify"> {
  readonly backend: Backend;
  readonly reportError: ReportError;
  readonly options: WorkOptions;
}

interface ProcessDeps extends Omit<WorkDeps, "sources"> {
  readonly source: string;
  readonly runs: Runs;
  readonly stripsCompleted: boolean;
}

/** A rolling deploy is over by then, or the newer worker takes the job first. */
const LATER_VERSION_DELAY_MS = 30_000;
const LATER_VERSION_MAX_MS = 86_400_000;
/** Milliseconds until another ledger's job is looked at again: by then its own workers may run. */
const FOREIGN_DELAY_MS = 15_000;
/** An error of `run` is a fault of Millrace or of the process; an immediate retry repeats it. */
const UNEXPECTED_DELAY_MS = 5_000;
/** For what BullMQ itself throws about a job, such as a lost lock. */
const DEFAULT_DELAY_MS = 30_000;
const REASON_CHARS_MAX = 1_000;

/** Throws a {@link RetryJobError} to run the job again, `UnrecoverableError` to fail it. */
export async function processJob(deps: ProcessDeps, job: Job): Promise<string> {
  failpoint("worker.fetched");
  // A job that was added by hand lacks these options, and would end at its first failure.
  Object.assign(job.opts, JOB_OPTIONS);
  const { event, mac } = checkEvent(deps, job);
  const run = deps.runs.begin(deps.source, job.id ?? "");
  try {
    const enqueuedAtMs = addedAt(job);
    // BullMQ counts a run when it begins, and a stall when a worker did not end one.
    const startedBefore = job.attemptsStarted !== 1 || job.stalledCounter > 0;
    const { signal } = run;
    const eventJob = { event, mac, run: runName(job), startedBefore, enqueuedAtMs, signal };
    return await answer(deps, job, await deps.options.run(eventJob));
  } catch (error) {
    if (error instanceof RetryJobError || error instanceof UnrecoverableError) throw error;
    deps.reportError(error, deps.source);
    throw new RetryJobError(job, UNEXPECTED_DELAY_MS, failedReason("internal", "the run threw"));
  } finally {
    run.end();
  }
}

/** The event of a job. Nothing of a job is trusted: a person may have added or edited it. */
function checkEvent(deps: ProcessDeps, job: Job): ReadEnvelope {
  const refuse = (code: ErrorCode): void =>
    deps.notify({ kind: "refused", source: deps.source, jobId: job.id ?? "", code });
  let read: ReadEnvelope;
  try {
    read = readEnvelope(job.data, deps.backend.keys);
  } catch (error) {
    const code = isMillraceError(error) ? error.code : "invalid_envelope";
    const reason = failedReason(code, isMillraceError(error) ? error.message : "unreadable");
    refuse(code);
    if (code === "unknown_envelope_version" && isOfToday(job)) {
      throw new RetryJobError(job, LATER_VERSION_DELAY_MS, reason);
    }
    throw new UnrecoverableError(reason);
  }
  if (isForeign(read.ledger, deps.backend.owner)) {
    refuse("foreign_job");
    const reason = failedReason("foreign_job", `the job is for the ledger ${read.ledger}`);
    throw new RetryJobError(job, FOREIGN_DELAY_MS, reason);
  }
  const problem = mismatch(deps.source, job, read.event);
  if (problem === undefined) return read;
  refuse("invalid_envelope");
  throw new UnrecoverableError(failedReason("invalid_envelope", problem));
}

/** True within a day of the time that the job was added; false for a time that was made up. */
function isOfToday({ timestamp }: Job): boolean {
  return Math.abs(Date.now() - timestamp) < LATER_VERSION_MAX_MS;
}

function mismatch(source: string, job: Job, event: EnvelopedEvent): string | undefined {
  if (event.source !== source) return `the job is of source "${event.source}"`;
  if (job.id !== jobId(event.eventId, event.generation)) return "the job's id is not its event's";
  return undefined;
}

async function answer(deps: ProcessDeps, job: Job, result: JobResult): Promise<string> {
  if (result.kind === "completed" || result.kind === "duplicate") {
    failpoint("worker.committed");
    if (deps.stripsCompleted) await stripBody(deps, job);
    return result.kind;
  }
  if (result.kind === "lost") {
    const reason = failedReason("lost_claim", "another worker has the event");
    throw new RetryJobError(job, result.afterMs, reason);
  }
  if (result.recorded === true) {
    failpoint("worker.fail_recorded");
    await stripBody(deps, job);
  }
  const reason = failedReason(result.code, result.message);
  if (result.kind === "failed") throw new UnrecoverableError(reason);
  throw new RetryJobError(job, result.afterMs, reason);
}

/** The ledger has the body, so the job need not carry it until its last retry. */
async function stripBody(deps: ProcessDeps, job: Job): Promise<void> {
  const { body, body_encoding: _, ...identity } = job.data;
  if (body === undefined) return;
  try {
    await job.updateData({ ...identity, headers: {} });
  } catch (error) {
    deps.reportError(error, deps.source);
  }
}

/** Short, of characters that Postgres can store: a refused reason would leave the job active. */
function failedReason(code: string, message: string): string {
  const reason = `${code}: ${message}`.slice(0, REASON_CHARS_MAX).replaceAll("\0", "\u{FFFD}");
  // A trip through UTF-8 replaces half a surrogate pair, such as the cut may leave.
  return Buffer.from(reason, "utf8").toString("utf8");
}

class RetryJobError extends Error {
  readonly afterMs: number;

  constructor(job: Job, afterMs: number, reason: string) {
    super(keepingName(reason, runName(job)));
    this.name = "RetryJobError";
    this.afterMs = Math.max(0, Math.round(afterMs));
  }
}

export function retryDelay(_attemptsMade: number, _type?: string, error?: Error): number {
  return error instanceof RetryJobError ? error.afterMs : DEFAULT_DELAY_MS;
}

export type Runs = ReturnType<typeof createRuns>;

/**
 * A process that was frozen for longer than a lock lasts has lost its jobs. Redis says so only
 * after the handlers' next step, so each look at a signal, and a timer, compare the clock.
 */
export function createRuns({ lockDurationMs }: { readonly lockDurationMs: number }) {
  const latest = new Map<string, LazySignal>();
  const active = new Set<LazySignal>();
  let stopping = false;
  const onIdle: (() => void)[] = [];
  let lookedMs = performance.now();
  let looking: NodeJS.Timeout | undefined;

  function look(): void {
    const nowMs = performance.now();
    const isFrozen = nowMs - lookedMs > lockDurationMs;
    lookedMs = nowMs;
    if (isFrozen) for (const signal of [...active]) signal.abort(lostLock());
  }

  class RunSignal extends LazySignal {
    override get aborted(): boolean {
      look();
      return super.aborted;
    }
  }

  function end(key: string, controller: LazySignal): void {
    active.delete(controller);
    if (latest.get(key) === controller) latest.delete(key);
    if (active.size > 0) return;
    clearInterval(looking);
    for (const resolve of onIdle.splice(0)) resolve();
  }

  function abort(key: string): boolean {
    const controller = latest.get(key);
    controller?.abort(lostLock());
    return controller !== undefined;
  }

  return {
    get active() {
      return active.size;
    },
    begin: (source: string, id: string): { readonly signal: StopSignal; end(): void } => {
      const key = `${source}:${id}`;
      abort(key);
      if (active.size === 0) {
        lookedMs = performance.now();
        looking = setInterval(look, lockDurationMs / 4).unref();
      }
      const controller = new RunSignal();
      latest.set(key, controller);
      active.add(controller);
      if (stopping) controller.abort(stopped());
      return { signal: controller, end: () => end(key, controller) };
    },
    abort: (source: string, id: string) => abort(`${source}:${id}`),
    abortAll: () => {
      stopping = true;
      for (const controller of active) controller.abort(stopped());
    },
    idle: (timeoutMs: number): Promise<boolean> => {
      if (active.size === 0) return Promise.resolve(true);
      return settlesWithin(new Promise<void>((resolve) => onIdle.push(resolve)), timeoutMs);
    },
  };
}

function lostLock(): MillraceError {
  return new MillraceError("lost_claim", "Cannot continue: the job's lock was lost");
}

function stopped(): MillraceError {
  return new MillraceError("shutting_down", "Cannot continue: the worker is closing");
}
