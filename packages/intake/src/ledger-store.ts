import {
  createEnqueueLater,
  failpoint,
  type Config,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import { createQueueLimits } from "@millrace/queue";
import type { DeliveryCounter } from "./counts.ts";
import type { ClosableEventStore, LedgerClient, QueueClient } from "./event-store.ts";
import type { Notify } from "./notice.ts";

export interface LedgerStoreDeps {
  readonly ledger: LedgerClient;
  readonly queue: QueueClient;
  readonly sources: Config["sources"];
  readonly notify?: Notify | undefined;
  readonly deliveries?: DeliveryCounter | undefined;
}

/** An answer waits for the ledger alone; identities go to the queue while that has capacity. */
export function createLedgerStore(deps: LedgerStoreDeps): ClosableEventStore {
  const { ledger, queue } = deps;
  const isQueueFull = createQueueLimits(queue, deps.sources);
  const later = createEnqueueLater({
    queue,
    markEnqueued: (keys) => ledger.markEnqueued(keys),
    onLost: (events, error) => deps.notify?.({ kind: "left_behind", events, error }),
  });

  async function put(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]> {
    const results = await ledger.accept(events);
    failpoint("ledger.accepted");
    deps.deliveries?.add(events, results);
    for (const [index, event] of events.entries()) {
      if (results[index] === "accepted" && !isQueueFull(event.source)) later.add(event);
    }
    return results;
  }

  return {
    name: "ledger",
    put,
    ping: () => ledger.ping(),
    isFull: () => false,
    close: (timeoutMs) => later.close(timeoutMs),
  };
}
