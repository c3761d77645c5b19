import { wait } from "@millrace/core";
import type { EventIdentity } from "@millrace/ledger";
import { inLanes } from "./in-lanes.ts";
import type { JobQueues } from "./ports.ts";
import { withoutBody } from "./without-body.ts";

/**
 * What was done for a job: it waits to be run because of us; it was on its way before; or the queue
 * could not be asked.
 */
export type PutJob = "woken" | "on_its_way" | Error;

/** Jobs asked for at once. On Redis they share a connection, and their round trips. */
const LANES = 64;
/** Milliseconds that a job which a worker is just failing gets to arrive in the queue's `failed`. */
const ACTIVE_PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 25;

/**
 * Makes the jobs of events wait that the ledger has pending: one that ended is moved back, one that is
 * gone is put on the queue anew, with the identity alone. Patient, it gives a job that is just being
 * failed the time to arrive there.
 */
export async function wakeJobs(
  queues: JobQueues,
  events: readonly EventIdentity[],
  options: { patient: boolean },
): Promise<readonly PutJob[]> {
  const once = (event: EventIdentity) => wake(queues, event);
  const patiently = (event: EventIdentity) => wakePatiently(queues, event);
  const became = await inLanes(events, LANES, options.patient ? patiently : once);
  const missing = events.filter((_, index) => became[index] === "missing");
  if (missing.length === 0) return became.map(known);
  const placed = await queues.enqueue(missing.map(withoutBody), { identityOnly: true });
  const answers = placed.values();
  return became.map((job) => {
    if (job !== "missing") return known(job);
    const placement = answers.next().value;
    if (placement instanceof Error) return placement;
    return placement === "accepted" ? "woken" : "on_its_way";
  });
}

/** Puts the jobs of events on their queues that are pending in the ledger and have none yet. */
export async function putJobs(
  queues: JobQueues,
  events: readonly EventIdentity[],
): Promise<readonly PutJob[]> {
  if (events.length === 0) return [];
  const placed = await queues.enqueue(events.map(withoutBody), { identityOnly: true, exact: true });
  // A queue that is older than the ledger's rows (a restored database) may have such a job, ended.
  const there = events.filter((_, index) => isThere(placed[index]));
  const woken = (await wakeJobs(queues, there, { patient: false })).values();
  return placed.map((placement) => {
    if (placement instanceof Error) return placement;
    return isThere(placement) ? (woken.next().value ?? "on_its_way") : "woken";
  });
}

const isThere = (placement: unknown): boolean =>
  !(placement instanceof Error) && placement !== "accepted";

type Seen = "woken" | "on_its_way" | "active" | "missing";

function known(job: Seen | Error): PutJob {
  return job === "active" || job === "missing" ? "on_its_way" : job;
}

/**
 * A worker writes `failed` to the ledger and tells the queue after that: for a moment the job is
 * still active, and would fail right after a retry that found it so. One whose worker died between
 * the two stays active; the stall check runs it again, and the ledger has it pending by then.
 */
async function wakePatiently(queues: JobQueues, event: EventIdentity): Promise<Seen> {
  const deadline = Date.now() + ACTIVE_PATIENCE_MS;
  for (;;) {
    const job = await wake(queues, event);
    if (job !== "active" || Date.now() >= deadline) return job;
    await wait(LOOK_EVERY_MS);
  }
}

async function wake(queues: JobQueues, event: EventIdentity): Promise<Seen> {
  const became = await queues.retryJob(event);
  if (became === "retried") return "woken";
  const job = became === "not_found" ? undefined : await queues.findJob(event);
  if (job === undefined) return "missing";
  if (job.state === "completed") return await rerun(queues, event);
  return job.state === "waiting" || job.state === "delayed" ? "on_its_way" : "active";
}

// Should the event be completed after all, its worker finds it so and does nothing.
async function rerun(queues: JobQueues, event: EventIdentity): Promise<Seen> {
  const became = await queues.rerunJob(event);
  if (became === "retried") return "woken";
  return became === "not_found" ? "missing" : "active";
}
