import {
  failpoint,
  fromEnvelope,
  isMillraceError,
  type EnvelopedEvent,
  type ErrorCode,
  type QueuedEvent,
  type Settlement,
} from "@millrace/core";
import { UnrecoverableError, type Job } from "bullmq";
import { ComesAgain } from "./comes-again.ts";
import { failedReason } from "./failed-reason.ts";
import { jobId } from "./job-id.ts";
import { JOB_OPTIONS } from "./job-options.ts";
import type { Notify } from "./notice.ts";
import { runName } from "./run-name.ts";
import type { Runs } from "./runs.ts";

interface Deps {
  readonly source: string;
  readonly runs: Runs;
  readonly run: (job: QueuedEvent) => Promise<Settlement>;
  readonly notify: Notify;
  readonly trouble: (error: unknown, source?: string) => void;
}

/** A rolling deploy is over by then, or the newer worker takes the job first. */
const LATER_VERSION_PAUSE_MS = 30_000;
/** What `run` throws is a fault of ours or of the process; there is no hurry to meet it again. */
const UNEXPECTED_PAUSE_MS = 5_000;

/** What BullMQ calls for a job: runs it, and says in BullMQ's terms what became of it. */
export function createProcessJob(deps: Deps): (job: Job) => Promise<string> {
  return async (job) => {
    // A job that was added by hand has no policy of ours, and would end at its first failure.
    failpoint("worker.fetched");
    Object.assign(job.opts, JOB_OPTIONS);
    const event = readJob(deps, job);
    const run = deps.runs.begin(deps.source, job.id ?? "");
    try {
      const settlement = await deps.run({
        event,
        run: runName(job),
        enqueuedAtMs: job.timestamp,
        signal: run.signal,
      });
      return await answer(deps, job, settlement);
    } catch (error) {
      if (error instanceof ComesAgain || error instanceof UnrecoverableError) throw error;
      deps.trouble(error, deps.source);
      throw new ComesAgain(job, UNEXPECTED_PAUSE_MS, failedReason("internal", "the run threw"));
    } finally {
      run.end();
    }
  };
}

/** Nothing of a job is trusted: it may have been added or edited by hand. */
function readJob(deps: Deps, job: Job): EnvelopedEvent {
  const refuse = (code: ErrorCode): void =>
    deps.notify({ kind: "refused", source: deps.source, jobId: job.id ?? "", code });
  let event: EnvelopedEvent;
  try {
    event = fromEnvelope(job.data);
  } catch (error) {
    const code = isMillraceError(error) ? error.code : "invalid_envelope";
    const reason = failedReason(code, isMillraceError(error) ? error.message : "unreadable");
    refuse(code);
    if (code === "unknown_envelope_version")
      throw new ComesAgain(job, LATER_VERSION_PAUSE_MS, reason);
    throw new UnrecoverableError(reason);
  }
  const problem = mismatch(deps.source, job, event);
  if (problem === undefined) return event;
  refuse("invalid_envelope");
  throw new UnrecoverableError(failedReason("invalid_envelope", problem));
}

function mismatch(source: string, job: Job, event: EnvelopedEvent): string | undefined {
  if (event.source !== source) return `the job is of source "${event.source}"`;
  if (job.id !== jobId(event.eventId, event.generation)) return "the job's id is not its event's";
  return undefined;
}

/** Returns what BullMQ keeps as the job's result, or throws what makes it fail or come again. */
async function answer(deps: Deps, job: Job, settlement: Settlement): Promise<string> {
  if (settlement.kind === "completed" || settlement.kind === "duplicate") {
    failpoint("worker.committed");
    return settlement.kind;
  }
  if (settlement.kind === "lost") {
    const reason = failedReason("lost_claim", "another worker has the event");
    throw new ComesAgain(job, settlement.afterMs, reason);
  }
  if (settlement.recorded === true) {
    failpoint("worker.fail_recorded");
    await stripBody(deps, job);
  }
  const reason = failedReason(settlement.code, settlement.message);
  if (settlement.kind === "failed") throw new UnrecoverableError(reason);
  throw new ComesAgain(job, settlement.afterMs, reason);
}

/** The ledger has the body, so the job need not hold it for as long as its retries take. */
async function stripBody(deps: Deps, job: Job): Promise<void> {
  const { body, body_encoding: _, ...identity } = job.data;
  if (body === undefined) return;
  try {
    await job.updateData({ ...identity, headers: {} });
  } catch (error) {
    deps.trouble(error, deps.source);
  }
}
