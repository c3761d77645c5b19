import { wait } from "@millrace/core";
import type { BodyPartition } from "@millrace/ledger";
import { archivePartition } from "./archive-partition.ts";
import type { RetentionDeps } from "./retention-options.ts";

/** Times that a body is waited for which an attempt holds, and milliseconds in between. */
const BUSY_TRIES = 10;
const BUSY_WAIT_MS = 500;

/**
 * Drops a day's bodies: first those of events that are not completed move on to today, then the rest
 * is archived, if it is to be. Wherever it ends half-way, the next call goes on. `busy` when somebody
 * used what is in it for too long.
 *
 * @throws `archive_failed`, `database_unavailable`, the signal's reason
 */
export async function retirePartition(
  deps: RetentionDeps,
  partition: BodyPartition,
  options: { archiveDir?: string | undefined; signal: AbortSignal },
): Promise<"dropped" | "busy"> {
  const { ledger, notify } = deps;
  const { archiveDir, signal } = options;
  const { day, bytes } = partition;
  if (!(await moveOn(deps, partition, signal))) return "busy";
  if (archiveDir !== undefined) await archivePartition(deps, partition, { archiveDir, signal });
  if ((await ledger.detach(partition, signal)) === "busy") return "busy";
  // Nobody can come to need a body of a day that is over; if one did, it is still here to be moved.
  if (!(await moveOn(deps, partition, signal))) return "busy";
  if ((await ledger.drop(partition, signal)) === "busy") return "busy";
  notify({ kind: "dropped", day, bytes });
  return "dropped";
}

/** False when attempts hold some of the events, and do not let go of them. */
async function moveOn(
  { ledger, notify }: RetentionDeps,
  partition: BodyPartition,
  signal: AbortSignal,
): Promise<boolean> {
  let triesLeft = BUSY_TRIES;
  for (;;) {
    signal.throwIfAborted();
    const { found, moved, bytes } = await ledger.moveBodies(partition);
    if (found === 0) return true;
    if (moved > 0) {
      triesLeft = BUSY_TRIES;
      notify({ kind: "moved", day: partition.day, events: moved, bytes });
      continue;
    }
    if (triesLeft === 0) return false;
    triesLeft -= 1;
    await wait(BUSY_WAIT_MS, signal);
  }
}
