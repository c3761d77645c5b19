import type { Config, IncomingEvent } from "@millrace/core";
import type { ConflictingDelivery, Ledger } from "@millrace/ledger";
import { createBacklog, type Backlog } from "./backlog.ts";
import type { ClosableEventStore, QueueClient, StoreBreaker } from "./event-store.ts";

export interface QueueStoreDeps {
  readonly queue: QueueClient & { readonly breaker: StoreBreaker };
  readonly sources: Config["sources"];
  /** Keeps a note of deliveries that the queue calls a `conflict`, in the background and while there is
   * capacity. */
  readonly conflicts?: ConflictLog;
}

type ConflictLog = Pick<Ledger["intake"], "noteConflicts">;

/** The queue as an event store: body and identity are in the job. */
export function createQueueStore({
  queue,
  sources,
  conflicts,
}: QueueStoreDeps): ClosableEventStore {
  const notes = conflicts && createNotes(conflicts);

  async function put(events: readonly IncomingEvent[]) {
    const results = await queue.enqueue(events);
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
    isFull: createQueueLimits(queue, sources),
    // A getter: the client of a queue that is not open yet has another one.
    get breaker() {
      return queue.breaker;
    },
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

/** Above it Redis is close to refusing every write, including those that would drain it. */
const MEMORY_SHARE_MAX = 0.8;

/**
 * Tells whether a source's queue, or the memory that all queues share, is past its limits. A ledger asks
 * too, before it enqueues what it has stored.
 */
export function createQueueLimits(
  queue: Pick<QueueClient, "pressure">,
  sources: Config["sources"],
): (source: string) => boolean {
  return (source) => {
    const policy = sources[source]?.options;
    if (policy === undefined) return false;
    const pressure = queue.pressure();
    if ((pressure.memoryShare ?? 0) > MEMORY_SHARE_MAX) return true;
    const { depth, oldestAgeMs } = pressure.of(source);
    const { queueDepthMax, queueAgeMsMax } = policy;
    if (depth >= queueDepthMax) return true;
    return queueAgeMsMax !== undefined && (oldestAgeMs ?? 0) > queueAgeMsMax;
  };
}
