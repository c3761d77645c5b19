import { fromEnvelope, type EnvelopedEvent, type EventKey } from "@millrace/core";
import type { Job, Queue } from "bullmq";
import type { Backend } from "./backend.ts";
import { jobId } from "./job-id.ts";
import type { FoundJob, Queues } from "./queues.ts";
import { runName } from "./run-name.ts";

type Inspection = Pick<
  Queues,
  "findJob" | "retryJob" | "rerunJob" | "pause" | "resume" | "counts" | "oldestWaitingAgeMs"
>;

/** BullMQ's codes of a retry that came too late (its enum ErrorCode). */
const JOB_NOT_EXIST = -1;
const JOB_NOT_IN_STATE = -3;

/** What people and the reconciler ask of the queues, and do to them. */
export function createInspection(backend: Backend, queues: ReadonlyMap<string, Queue>): Inspection {
  const queueOf = (source: string): Queue => {
    const queue = queues.get(source);
    if (queue === undefined) throw new Error(`Cannot find the queue: no source "${source}"`);
    return queue;
  };
  return {
    findJob: async (key) => {
      const queue = queueOf(key.source);
      const id = jobId(key.eventId, key.generation);
      const [job, state] = await Promise.all([queue.getJob(id), queue.getJobState(id)]);
      return job === undefined ? undefined : found(job, state);
    },
    retryJob: async (key) => {
      const became = await runAgain(backend, queueOf(key.source), key, "failed");
      return became === "elsewhere" ? "not_failed" : became;
    },
    rerunJob: async (key) => {
      const became = await runAgain(backend, queueOf(key.source), key, "completed");
      return became === "elsewhere" ? "not_completed" : became;
    },
    pause: (source) => queueOf(source).pause(),
    resume: (source) => queueOf(source).resume(),
    counts: () => backend.counts(queues),
    oldestWaitingAgeMs: async (source) => {
      const addedAtMs = await backend.nextAddedAtMs(queueOf(source));
      return addedAtMs === undefined ? undefined : Math.max(0, Date.now() - addedAtMs);
    },
  };
}

/**
 * Moves a job that has ended back to those that wait, in one step, so that a job which somebody else
 * has moved meanwhile is left to them. Its attempts are not reset: BullMQ's count of them is what
 * names the run, and it never ends a job of ours by itself.
 */
async function runAgain(
  backend: Backend,
  queue: Queue,
  key: EventKey,
  from: "failed" | "completed",
): Promise<"retried" | "elsewhere" | "not_found"> {
  const job = await queue.getJob(jobId(key.eventId, key.generation));
  if (job?.id === undefined) return "not_found";
  // BullMQ never forgets by itself how often a job lost its worker: one that it gave up once would
  // be given up again at the first loss.
  if (job.finishedOn !== undefined) await backend.forgetStalls(queue, job.id);
  try {
    await job.retry(from);
    return "retried";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === JOB_NOT_EXIST) return "not_found";
    if (code === JOB_NOT_IN_STATE) return "elsewhere";
    throw error;
  }
}

function found(job: Job, state: string): FoundJob {
  return {
    jobId: job.id ?? "",
    state: stateOf(state),
    run: runName(job),
    enqueuedAtMs: job.timestamp,
    finishedAtMs: job.finishedOn,
    failedReason: job.failedReason,
    event: eventOf(job.data),
  };
}

function stateOf(state: string): FoundJob["state"] {
  switch (state) {
    case "active":
    case "delayed":
    case "completed":
    case "failed":
      return state;
    case "waiting":
    case "prioritized":
    case "paused":
      return "waiting";
    default:
      return "unknown";
  }
}

function eventOf(data: unknown): EnvelopedEvent | undefined {
  try {
    return fromEnvelope(data);
  } catch {
    return undefined;
  }
}
