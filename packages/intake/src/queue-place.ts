import type { Config, IncomingEvent } from "@millrace/core";
import { createBacklog, type Backlog } from "./backlog.ts";
import type { ClosablePlace, ConflictingDelivery, ConflictPort, EnqueuePort } from "./ports.ts";
import { createQueueLimits } from "./queue-limits.ts";

export interface QueuePlaceDeps {
  readonly queue: EnqueuePort;
  readonly sources: Config["sources"];
  /** Remembers what the queue answers `conflict` to: unawaited, and as far as there is room. */
  readonly conflicts?: ConflictPort;
}

/** The queue: body and identity go into the job. */
export function createQueuePlace({ queue, sources, conflicts }: QueuePlaceDeps): ClosablePlace {
  const noted = conflicts && createNotebook(conflicts);

  async function put(events: readonly IncomingEvent[]) {
    const placements = await queue.enqueue(events);
    if (noted !== undefined && placements.includes("conflict")) {
      for (const [index, { source, eventId, bodyHash }] of events.entries()) {
        if (placements[index] === "conflict") noted.add({ source, eventId, bodyHash });
      }
    }
    return placements;
  }

  return {
    name: "queue",
    put,
    ping: () => queue.ping(),
    isFull: createQueueLimits(queue, sources),
    close: async (timeoutMs) => noted?.close(timeoutMs),
  };
}

// The metric has counted what is lost here, and the log has told it.
function createNotebook(conflicts: ConflictPort): Backlog<ConflictingDelivery> {
  return createBacklog((deliveries) => conflicts.noteConflicts(deliveries), {
    batchMax: 100,
    itemsMax: 1_000,
    bytesMax: 1_048_576,
    bytesOf: ({ eventId }) => 200 + 2 * eventId.length,
    lingerMs: 200,
    onLost: () => {},
  });
}
