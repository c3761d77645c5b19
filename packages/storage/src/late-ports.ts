import type { QueueClient } from "@millrace/intake";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";

/** What may not be there yet; asked for it then, it throws `unavailable`. */
type Late<Store> = () => Store;

/** A queue as the places need it, from one that may not be open yet. */
export function lateQueue(
  queues: Late<Queues>,
  opened: () => Queues | undefined,
): QueueClient & Pick<Queues, "breaker"> {
  return {
    enqueue: async (events, options) => await queues().enqueue(events, options),
    ping: async () => await queues().ping(),
    pressure: () => opened()?.pressure() ?? NO_PRESSURE,
    get breaker() {
      return opened()?.breaker ?? NOT_OPENED;
    },
  };
}

// What is not open takes nothing; that it is open is seen without a probe.
const NOT_OPENED = { isOpen: true, trip: () => {} };

const NO_PRESSURE = {
  memoryShare: undefined,
  of: () => ({ depth: 0, oldestAgeMs: undefined }),
};

/** A ledger as the places need it, from one that may not be open yet. */
export function lateLedger(ledger: Late<Ledger>): Ledger["intake"] {
  return {
    accept: async (events) => await ledger().intake.accept(events),
    markEnqueued: async (keys) => await ledger().intake.markEnqueued(keys),
    noteConflicts: async (deliveries) => await ledger().intake.noteConflicts(deliveries),
    ping: async () => await ledger().intake.ping(),
  };
}
