import type { EventIdentity, PendingEvent } from "@millrace/ledger";
import { disagreementOf, type Disagreement } from "./disagreement.ts";
import type { CompareDeps } from "./ports.ts";

interface Compared {
  readonly found: readonly Disagreement[];
  /** Events whose jobs are on their way, which the ledger did not know. */
  readonly unmarked: readonly EventIdentity[];
}

/** Compares pending events with their jobs. */
export async function comparePending(
  { ledger, queues }: CompareDeps,
  pending: readonly PendingEvent[],
): Promise<Compared> {
  const jobs = await queues.glance(pending.map(({ event }) => event));
  const found: Disagreement[] = [];
  const unmarked: EventIdentity[] = [];
  const ended: PendingEvent[] = [];
  pending.forEach((row, index) => {
    const job = jobs[index];
    if (job === undefined) {
      found.push({
        kind: "pending_without_job",
        event: row.event,
        end: undefined,
        placed: row.placed,
      });
    } else if (job.state !== "live") {
      ended.push(row);
    } else if (!row.placed) {
      unmarked.push(row.event);
    }
  });
  return { found: [...found, ...(await compareEnded({ ledger, queues }, ended))], unmarked };
}

/**
 * An event is settled in the ledger first and its job ends after that, so that a pending event whose job
 * has ended may be settled by now: the ledger is asked once more, after the queue.
 */
async function compareEnded(
  { ledger, queues }: Pick<CompareDeps, "ledger" | "queues">,
  pending: readonly PendingEvent[],
): Promise<Disagreement[]> {
  if (pending.length === 0) return [];
  const keys = pending.map(({ event }) => event);
  const jobs = await queues.glance(keys);
  const rows = await ledger.standings(keys);
  return rows.flatMap((row, index) => {
    const job = jobs[index];
    const kind = row && disagreementOf(row, job);
    if (row === undefined || kind === undefined) return [];
    const end = job?.state === "live" ? undefined : job;
    return [{ kind, event: row.event, end, placed: row.placed }];
  });
}
