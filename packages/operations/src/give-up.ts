import { keyOf, type EventKey, type EventLookup } from "@millrace/core";
import type { GiveUpAnswer, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { underAudit, type Actor } from "./audit.ts";
import { mapConcurrent } from "./map-concurrent.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries" | "audit">;
  readonly queues: Pick<Queues, "findJob"> & RemovalQueues;
}

export type RemovalQueues = Pick<Queues, "queues" | "removeJob" | "jobStatuses">;

/** Jobs that are removed at once. On Redis they share a connection, and their round trips. */
const CONCURRENCY = 64;

/**
 * If the queue does not answer, the reconciler removes the job; one that is due runs no handler.
 * @throws `database_unavailable`; the queue's error for an event that the ledger does not know
 */
export async function giveUpEvent(
  { ledger, queues, actor }: Deps & { readonly actor: Actor },
  lookup: EventLookup,
): Promise<GiveUpAnswer> {
  return await underAudit(
    { ledger, actor },
    { action: "give_up", ...lookup },
    async () => {
      const found = await ledger.reads.findStatus(lookup);
      if (found === undefined) return await answerUnrecorded(queues, lookup);
      const key = keyOf({ ...lookup, generation: found.generation });
      const [answer = "not_found"] = await ledger.retries.giveUpMany([key]);
      if (answer === "given_up") await removeJobs({ ledger, queues }, [key]);
      return answer;
    },
    (answer) => (answer === "given_up" ? { given_up: 1 } : { skipped: answer }),
  );
}

/** An event that comes through Redis is recorded some seconds into its first attempt. */
async function answerUnrecorded(
  queues: Deps["queues"],
  lookup: EventLookup,
): Promise<"running" | "not_found"> {
  if (!queues.queues.has(lookup.source)) return "not_found";
  const job = await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
  return job?.state === "active" ? "running" : "not_found";
}

export async function removeJobs(
  { ledger, queues }: RemovalDeps,
  keys: readonly EventKey[],
): Promise<number> {
  const known = keys.filter(({ source }) => queues.queues.has(source));
  const removed = await mapConcurrent(known, CONCURRENCY, (key) => queues.removeJob(key));
  if (removed.some((one) => one instanceof Error)) return 0;
  try {
    const jobs = await queues.jobStatuses(known);
    const gone = known.filter((_, index) => jobs[index]?.state !== "live");
    await ledger.retries.noteJobsRemoved(gone);
    return gone.length;
  } catch {
    return 0;
  }
}

interface RemovalDeps {
  readonly ledger: Pick<Ledger, "retries">;
  readonly queues: RemovalQueues;
}
