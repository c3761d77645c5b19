import { createBacklog } from "./backlog.ts";
import type { StoreResult } from "./claim.ts";
import { keyOf, type EventKey, type IncomingEvent } from "./event.ts";
import { failpoint } from "./failpoint.ts";

export interface EnqueueLaterDeps {
  readonly queue: {
    enqueue(
      events: readonly IncomingEvent[],
      options: { identityOnly: true; exact: true; delaysMs: readonly number[] },
    ): Promise<readonly StoreResult[]>;
  };
  readonly markEnqueued: (keys: readonly EventKey[]) => Promise<void>;
  readonly onLost: (events: number, error: unknown) => void;
}

/** Both backlogs hold identities only; an id may take 1,024 bytes. */
const BOUNDS = { itemsMax: 20_000, bytesMax: 16 * 1024 * 1024 };
const ENQUEUE_BATCH = 100;
/** A call costs as much as several identities in one, and nobody waits for it but the worker. */
const ENQUEUE_LINGER_MS = 5;
const MARK_BATCH = 1_000;
/** By then the worker has usually recorded the event, so most of these writes are skipped. */
const MARK_LINGER_MS = 1_000;
const NO_BODY = new Uint8Array();

/** Puts events of the ledger on the queue in the background. The reconciler finds what is lost. */
export function createEnqueueLater({ queue, markEnqueued, onLost }: EnqueueLaterDeps) {
  const marks = createBacklog<EventKey>(mark, {
    ...BOUNDS,
    bytesOf,
    batchMax: MARK_BATCH,
    lingerMs: MARK_LINGER_MS,
    onLost: () => {},
  });
  const identities = createBacklog<Identity>(enqueue, {
    ...BOUNDS,
    bytesOf: ({ event }) => bytesOf(event),
    batchMax: ENQUEUE_BATCH,
    lingerMs: ENQUEUE_LINGER_MS,
    onLost,
  });

  async function enqueue(batch: readonly Identity[]): Promise<void> {
    failpoint("ledger.before_enqueue");
    const events = batch.map(({ event }) => event);
    const delaysMs = batch.map(({ dueMs }) => Math.max(0, dueMs - Date.now()));
    // All of them are new to the ledger: an ended job is older than a restore of Postgres.
    const results = await queue.enqueue(events, { identityOnly: true, exact: true, delaysMs });
    failpoint("ledger.enqueued");
    for (const [index, event] of events.entries()) {
      // An event whose job has ended gets no mark: the next pass of the reconciler runs it again.
      if (ON_QUEUE.includes(results[index])) marks.add(keyOf(event));
    }
    const errors = results.filter((result) => result instanceof Error);
    if (errors.length > 0) onLost(errors.length, errors[0]);
  }

  async function mark(keys: readonly EventKey[]): Promise<void> {
    await markEnqueued(keys);
    failpoint("ledger.marked");
  }

  return {
    add: (event: IncomingEvent, afterMs = 0): void => {
      // It keeps neither body nor headers in memory.
      identities.add({
        event: { ...event, headers: {}, body: NO_BODY },
        dueMs: Date.now() + afterMs,
      });
    },
    close: async (timeoutMs: number): Promise<void> => {
      const deadlineMs = performance.now() + timeoutMs;
      await identities.close(timeoutMs);
      await marks.close(Math.max(0, deadlineMs - performance.now()));
    },
  };
}

interface Identity {
  readonly event: IncomingEvent;
  readonly dueMs: number;
}

const ON_QUEUE: readonly (StoreResult | undefined)[] = ["accepted", "duplicate", "conflict"];

function bytesOf({ source, eventId }: EventKey): number {
  return 400 + 2 * (source.length + eventId.length);
}
