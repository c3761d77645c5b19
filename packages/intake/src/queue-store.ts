import { createBacklog, type Backlog, type Config, type IncomingEvent } from "@millrace/core";
import type { ConflictingDelivery, Ledger } from "@millrace/ledger";
import { createQueueLimits } from "@millrace/queue";
import type { DeliveryCounter } from "./counts.ts";
import type { ClosableEventStore, QueueClient, StoreBreaker } from "./event-store.ts";

export interface QueueStoreDeps {
  readonly queue: QueueClient & { breakerOf(source: string): StoreBreaker };
  readonly sources: Config["sources"];
  /** Takes events while the queue may lose them, and notes conflicts in the background. */
  readonly ledger?: ConflictLog;
  readonly deliveries?: DeliveryCounter | undefined;
}

type ConflictLog = Pick<Ledger["intake"], "noteConflicts">;

export function createQueueStore({
  queue,
  sources,
  ledger,
  deliveries,
}: QueueStoreDeps): ClosableEventStore {
  const notes = ledger && createNotes(ledger);
  const isFull = createQueueLimits(queue, sources);
  const risk = () => queue.pressure().risk;

  async function put(events: readonly IncomingEvent[]) {
    const results = await queue.enqueue(events);
    deliveries?.add(events, results);
    if (notes !== undefined && results.includes("conflict")) {
      for (const [index, { source, eventId, bodyHash }] of events.entries()) {
        if (results[index] === "conflict") notes.add({ source, eventId, bodyHash });
      }
    }
    return results;
  }

  return {
    name: "queue",
    put,
    ping: () => queue.ping(),
    // Alone, it takes them at that risk.
    isFull: ledger === undefined ? isFull : (source) => isFull(source) || risk() !== undefined,
    risk,
    breakerOf: (source) => queue.breakerOf(source),
    close: async (timeoutMs) => notes?.close(timeoutMs),
  };
}

// The metric and the log have a conflict that is lost here.
function createNotes(conflicts: ConflictLog): Backlog<ConflictingDelivery> {
  return createBacklog((deliveries) => conflicts.noteConflicts(deliveries), {
    batchMax: 100,
    itemsMax: 1_000,
    bytesMax: 1_048_576,
    bytesOf: ({ eventId }) => 200 + 2 * eventId.length,
    lingerMs: 200,
    onLost: () => {},
  });
}
