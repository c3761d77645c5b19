import {
  createBacklog,
  type DeliveryOutcome,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";

/** Notes in the ledger which events were delivered again, behind the answer to their sender. */
export interface DeliveryNotes {
  /** Takes what a store has answered. Of events that are new nothing is noted. */
  add(events: readonly IncomingEvent[], results: readonly StoreResult[]): void;
  /** Writes what is there, for `timeoutMs` at most. */
  close(timeoutMs: number): Promise<void>;
}

export interface DeliveryNotesOptions {
  /** The host's name. */
  readonly ingress: string;
  /** Called with how many deliveries were not noted: too many waited, or the ledger did not answer. */
  readonly onLost: (deliveries: number, error: unknown) => void;
}

/**
 * Gathers repeated deliveries for a second, and writes them with one statement: a duplicate costs neither its sender nor the
 * store a round trip. What is lost, because too much waits or Postgres is away, is a number on a page.
 */
export function createDeliveryNotes(
  { noteDeliveries }: Pick<Ledger["intake"], "noteDeliveries">,
  { ingress, onLost }: DeliveryNotesOptions,
): DeliveryNotes {
  const notes = createBacklog<Parameters<typeof noteDeliveries>[1][number]>(
    (deliveries) => noteDeliveries(ingress, deliveries),
    {
      batchMax: 500,
      itemsMax: 10_000,
      bytesMax: 8 * 1024 * 1024,
      bytesOf: ({ eventId }) => 200 + 2 * eventId.length,
      lingerMs: 1_000,
      onLost,
    },
  );
  return {
    add: (events, results) => {
      for (const [index, result] of results.entries()) {
        const event = events[index];
        if (event === undefined || result === "accepted" || result instanceof Error) continue;
        const { source, eventId, acceptedAtMs: atMs } = event;
        notes.add({ source, eventId, outcome: OUTCOMES[result], atMs });
      }
    },
    close: (timeoutMs) => notes.close(timeoutMs),
  };
}

/** A job that has completed is a duplicate like any other; only the queue tells them apart. */
const OUTCOMES: Record<Exclude<StoreResult, "accepted" | Error>, DeliveryOutcome> = {
  duplicate: "duplicate",
  completed: "duplicate",
  conflict: "conflict",
  failed: "failed",
};
