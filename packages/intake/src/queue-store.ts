import { withDeadline, type Config, type IncomingEvent, type StoreResult } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { createQueueLimits } from "@millrace/queue";
import type { DeliveryCounter } from "./counts.ts";
import type { ClosableEventStore, QueueClient } from "./event-store.ts";

export interface QueueStoreDeps {
  readonly queue: QueueClient;
  readonly sources: Config["sources"];
  /** Takes events while the queue may lose them, and keeps the bodies of conflicts. */
  readonly ledger?: ConflictLog | undefined;
  readonly deliveries?: DeliveryCounter | undefined;
}

type ConflictLog = Pick<Ledger["intake"], "noteConflicts">;

/** Milliseconds that a conflict may hold up the other events of its call. */
const KEEP_TIMEOUT_MS = 300;
const late = () => new Error(`Postgres did not answer within ${KEEP_TIMEOUT_MS} ms`);

export function createQueueStore(deps: QueueStoreDeps): ClosableEventStore {
  const { queue, sources, ledger, deliveries } = deps;
  const isFull = createQueueLimits(queue, sources);
  const risk = () => queue.pressure().risk;

  async function put(events: readonly IncomingEvent[]) {
    const results = await queue.enqueue(events);
    const kept = await keepConflicts(events, results);
    deliveries?.add(events, kept);
    return kept;
  }

  /** An answer of 2xx says that the other body is kept too. */
  async function keepConflicts(
    events: readonly IncomingEvent[],
    results: readonly StoreResult[],
  ): Promise<readonly StoreResult[]> {
    if (ledger === undefined || !results.includes("conflict")) return results;
    try {
      const conflicting = events.filter((_, index) => results[index] === "conflict");
      const noting = withDeadline(ledger.noteConflicts(conflicting), KEEP_TIMEOUT_MS, late);
      const noted = (await noting).values();
      return results.map((result) =>
        result === "conflict" ? (noted.next().value ?? result) : result,
      );
    } catch (cause) {
      // No fault of the queue, which stays open for other events.
      const error = new Error("Cannot keep the other body of an event: see the cause", { cause });
      return results.map((result) => (result === "conflict" ? error : result));
    }
  }

  return {
    name: "queue",
    put,
    ping: () => queue.ping(),
    // Alone, it takes them at that risk.
    isFull: ledger === undefined ? isFull : (source) => isFull(source) || risk() !== undefined,
    risk,
    get breaker() {
      return queue.breaker;
    },
    close: async () => {},
  };
}
