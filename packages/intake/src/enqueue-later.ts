import { failpoint, type EventKey, type IncomingEvent, type Placement } from "@millrace/core";
import { createBacklog } from "./backlog.ts";
import type { Notify } from "./notice.ts";
import type { AcceptPort, EnqueuePort } from "./ports.ts";

/** Puts the identities of events that the ledger keeps on the queue, when their senders are answered. */
export interface EnqueueLater {
  add(event: IncomingEvent): void;
  /** Works off what is there, for so long at the most. */
  close(timeoutMs: number): Promise<void>;
}

/** Both hold identities only; an id may take 1,024 bytes. */
const BOUNDS = { itemsMax: 20_000, bytesMax: 16 * 1024 * 1024 };
const ENQUEUE_BATCH = 100;
const MARK_BATCH = 1_000;
/** Mostly the worker's record has noted the job before that, and nothing need be written twice. */
const MARK_LINGER_MS = 1_000;
const NO_BODY = new Uint8Array();

/**
 * Enqueues in the background, and notes in the ledger that it was done. Whatever is lost of either is
 * left to the reconciler: an event that is pending, and not known to have a job.
 */
export function createEnqueueLater(deps: {
  ledger: Pick<AcceptPort, "markEnqueued">;
  queue: Pick<EnqueuePort, "enqueue">;
  notify?: Notify;
}): EnqueueLater {
  const { ledger, queue } = deps;
  const marks = createBacklog<EventKey>(mark, {
    ...BOUNDS,
    batchMax: MARK_BATCH,
    bytesOf,
    lingerMs: MARK_LINGER_MS,
    // The reconciler finds the job, and notes it.
    onLost: () => {},
  });
  const identities = createBacklog<IncomingEvent>(enqueue, {
    ...BOUNDS,
    batchMax: ENQUEUE_BATCH,
    bytesOf,
    onLost: (events, error) => deps.notify?.({ kind: "left_behind", events, error }),
  });

  async function enqueue(events: readonly IncomingEvent[]): Promise<void> {
    failpoint("ledger.before_enqueue");
    const placements = await queue.enqueue(events, { identityOnly: true });
    failpoint("ledger.enqueued");
    for (const [index, { source, eventId, generation }] of events.entries()) {
      if (isOnQueue(placements[index])) marks.add({ source, eventId, generation });
    }
    const errors = placements.filter((placement) => placement instanceof Error);
    if (errors.length === 0) return;
    deps.notify?.({ kind: "left_behind", events: errors.length, error: errors[0] });
  }

  async function mark(keys: readonly EventKey[]): Promise<void> {
    await ledger.markEnqueued(keys);
    failpoint("ledger.marked");
  }

  return {
    // Neither body nor headers are kept alive by it.
    add: (event) => identities.add({ ...event, headers: {}, body: NO_BODY }),
    close: async (timeoutMs) => {
      const deadlineMs = performance.now() + timeoutMs;
      await identities.close(timeoutMs);
      await marks.close(Math.max(0, deadlineMs - performance.now()));
    },
  };
}

const isOnQueue = (placement: Placement | undefined): boolean =>
  placement !== undefined && !(placement instanceof Error);

function bytesOf({ source, eventId }: EventKey): number {
  return 400 + 2 * (source.length + eventId.length);
}
