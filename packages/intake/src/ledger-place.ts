import { failpoint, type Config, type IncomingEvent, type Placement } from "@millrace/core";
import { createEnqueueLater } from "./enqueue-later.ts";
import type { Notify } from "./notice.ts";
import type { AcceptPort, ClosablePlace, EnqueuePort } from "./ports.ts";
import { createQueueLimits } from "./queue-limits.ts";

export interface LedgerPlaceDeps {
  readonly ledger: AcceptPort;
  readonly queue: EnqueuePort;
  readonly sources: Config["sources"];
  readonly notify?: Notify;
}

/**
 * The ledger: it keeps event and body, knows every duplicate, and is all that an answer waits for. The
 * queue is given the identities afterwards, while it has room. What it is not given, because it is
 * away or full or this process dies, is pending in the ledger without a known job, which is what the
 * reconciler looks for.
 */
export function createLedgerPlace(deps: LedgerPlaceDeps): ClosablePlace {
  const { ledger, queue } = deps;
  const isQueueFull = createQueueLimits(queue, deps.sources);
  const later = createEnqueueLater(deps);

  async function put(events: readonly IncomingEvent[]): Promise<readonly Placement[]> {
    const placements = await ledger.accept(events);
    failpoint("ledger.accepted");
    for (const [index, event] of events.entries()) {
      if (placements[index] === "accepted" && !isQueueFull(event.source)) later.add(event);
    }
    return placements;
  }

  return {
    name: "ledger",
    put,
    ping: () => ledger.ping(),
    isFull: () => false,
    close: (timeoutMs) => later.close(timeoutMs),
  };
}
