import {
  failpoint,
  type Config,
  type EventKey,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import { createBacklog, type Backlog } from "./backlog.ts";
import type { ClosableEventStore, LedgerClient, QueueClient } from "./event-store.ts";
import type { Notify } from "./notice.ts";
import { createQueueLimits } from "./queue-store.ts";

export interface LedgerStoreDeps {
  readonly ledger: LedgerClient;
  readonly queue: QueueClient;
  readonly sources: Config["sources"];
  readonly notify?: Notify;
}

/** Both backlogs hold identities only; an id may take 1,024 bytes. */
const BOUNDS = { itemsMax: 20_000, bytesMax: 16 * 1024 * 1024, bytesOf };
const ENQUEUE_BATCH = 100;
/** A call costs as much as several identities in one, and nobody waits for it but the worker. */
const ENQUEUE_LINGER_MS = 5;
const MARK_BATCH = 1_000;
/** By then the worker has usually recorded the event, so most of these writes are skipped. */
const MARK_LINGER_MS = 1_000;
const NO_BODY = new Uint8Array();

/**
 * The ledger as an event store: it has event and body, knows every duplicate, and is all that an
 * answer waits for. The identities go to the queue in the background, while the queue has capacity, and
 * the ledger then notes which events have a job. Whatever is lost of that, because the queue is down or
 * full or this process dies, is pending in the ledger without a known job: the reconciler looks for
 * these.
 */
export function createLedgerStore(deps: LedgerStoreDeps): ClosableEventStore {
  const { ledger, queue } = deps;
  const isQueueFull = createQueueLimits(queue, deps.sources);
  const marks = createBacklog<EventKey>(markEnqueued, {
    ...BOUNDS,
    batchMax: MARK_BATCH,
    lingerMs: MARK_LINGER_MS,
    // The reconciler finds the job and marks its event.
    onLost: () => {},
  });
  const identities = createBacklog<IncomingEvent>(enqueue, {
    ...BOUNDS,
    batchMax: ENQUEUE_BATCH,
    lingerMs: ENQUEUE_LINGER_MS,
    onLost: (events, error) => deps.notify?.({ kind: "left_behind", events, error }),
  });

  async function put(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]> {
    const results = await ledger.accept(events);
    failpoint("ledger.accepted");
    for (const [index, event] of events.entries()) {
      if (results[index] === "accepted" && !isQueueFull(event.source)) enqueueLater(event);
    }
    return results;
  }

  function enqueueLater(event: IncomingEvent): void {
    // It keeps neither body nor headers in memory.
    identities.add({ ...event, headers: {}, body: NO_BODY });
  }

  async function enqueue(events: readonly IncomingEvent[]): Promise<void> {
    failpoint("ledger.before_enqueue");
    const results = await queue.enqueue(events, { identityOnly: true });
    failpoint("ledger.enqueued");
    for (const [index, { source, eventId, generation }] of events.entries()) {
      if (isOnQueue(results[index])) marks.add({ source, eventId, generation });
    }
    const errors = results.filter((result) => result instanceof Error);
    if (errors.length === 0) return;
    deps.notify?.({ kind: "left_behind", events: errors.length, error: errors[0] });
  }

  async function markEnqueued(keys: readonly EventKey[]): Promise<void> {
    await ledger.markEnqueued(keys);
    failpoint("ledger.marked");
  }

  return {
    name: "ledger",
    put,
    ping: () => ledger.ping(),
    isFull: () => false,
    close: (timeoutMs) => closeInTurn([identities, marks], timeoutMs),
  };
}

const isOnQueue = (result: StoreResult | undefined): boolean =>
  result !== undefined && !(result instanceof Error);

function bytesOf({ source, eventId }: EventKey): number {
  return 400 + 2 * (source.length + eventId.length);
}

async function closeInTurn(
  backlogs: readonly Pick<Backlog<never>, "close">[],
  timeoutMs: number,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (const backlog of backlogs) await backlog.close(Math.max(0, deadlineMs - performance.now()));
}
