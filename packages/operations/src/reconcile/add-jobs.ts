import { isMillraceError, type Placement } from "@millrace/core";
import { withoutBody } from "../without-body.ts";
import type { Disagreement } from "./disagreement.ts";
import type { MendDeps } from "./ports.ts";
import type { Room } from "./room.ts";

/** Jobs in one call, whose answers must come within the queue's deadline. */
const CHUNK = 250;

interface Deps extends Pick<MendDeps, "ledger" | "queues"> {
  readonly room: Room;
}

/**
 * Adds the jobs of events that have none, as far as their queues have room. The ledger has the bodies,
 * so a job carries the identity alone. An event that gets none is noted to be without, whatever was
 * noted before, so that the next pass comes back to it.
 *
 * @throws `unavailable` when the queue takes no job at all.
 */
export async function addJobs(deps: Deps, found: readonly Disagreement[]): Promise<number> {
  const { chosen, left } = choose(deps.room, found);
  const added: Disagreement[] = [];
  let failure: Error | undefined;
  for (let at = 0; at < chosen.length && failure === undefined; at += CHUNK) {
    const chunk = chosen.slice(at, at + CHUNK);
    const placed = await deps.queues.enqueue(events(chunk).map(withoutBody), {
      identityOnly: true,
    });
    placed.forEach((placement, index) => {
      const one = chunk[index];
      if (one !== undefined) (placement instanceof Error ? left : added).push(one);
    });
    failure = placed.find(isUnavailable);
    if (failure !== undefined) left.push(...chosen.slice(at + CHUNK));
  }
  await deps.ledger.markEnqueued(events(added.filter(({ placed }) => !placed)));
  await deps.ledger.unmarkEnqueued(events(left.filter(({ placed }) => placed)));
  if (failure !== undefined) throw failure;
  return added.length;
}

/** Of each source as many as its queue has room for. */
function choose(
  room: Room,
  found: readonly Disagreement[],
): { chosen: Disagreement[]; left: Disagreement[] } {
  const chosen: Disagreement[] = [];
  const left: Disagreement[] = [];
  for (const one of found) (room.take(one.event.source) ? chosen : left).push(one);
  return { chosen, left };
}

function isUnavailable(placement: Placement): placement is Error {
  return isMillraceError(placement) && placement.code === "unavailable";
}

const events = (found: readonly Disagreement[]) => found.map(({ event }) => event);
