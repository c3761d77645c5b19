import type { AcceptPort, ConflictPort, EnqueuePort } from "@millrace/intake";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";

/** What may not be there yet; asked for it then, it throws `unavailable`. */
type Late<Store> = () => Store;

/** A queue as the places need it, from one that may not be open yet. */
export function lateQueue(queues: Late<Queues>, opened: () => Queues | undefined): EnqueuePort {
  return {
    enqueue: async (events, options) => await queues().enqueue(events, options),
    ping: async () => await queues().ping(),
    pressure: () => opened()?.pressure() ?? NO_PRESSURE,
  };
}

const NO_PRESSURE = {
  memoryShare: undefined,
  of: () => ({ depth: 0, oldestAgeMs: undefined }),
};

/** A ledger as the places need it, from one that may not be open yet. */
export function lateLedger(ledger: Late<Ledger>): AcceptPort & ConflictPort {
  return {
    accept: async (events) => await ledger().accept(events),
    markEnqueued: async (keys) => await ledger().markEnqueued(keys),
    noteConflicts: async (deliveries) => await ledger().noteConflicts(deliveries),
    ping: async () => await ledger().ping(),
  };
}
