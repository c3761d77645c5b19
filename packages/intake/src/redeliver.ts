import {
  createBatcher,
  failpoint,
  withDeadline,
  type EventKey,
  type IncomingEvent,
} from "@millrace/core";
import type { RedeliveryPort } from "./event-store.ts";
import type { Notify } from "./notice.ts";

type Retried = Awaited<ReturnType<RedeliveryPort["retry"]>>;

export type Redeliver = ReturnType<typeof createRedeliver>;

/** Retries in flight at once. Each takes connections that deliveries wait for. */
const RETRIES_MAX = 2;
const LOOKUPS_MAX = 100;
/** The share of an answer's time that the ledger has to say whether an event has completed. */
const LOOKUP_SHARE = 0.5;

/** A retry does not begin once its sender has been answered. */
export function createRedeliver(port: RedeliveryPort, notify: Notify) {
  const turns = createBatcher<{ event: IncomingEvent; deadlineMs: number }, Retried>(
    async ([turn]) => {
      if (turn === undefined) return [];
      if (performance.now() > turn.deadlineMs) throw late();
      failpoint("ingress.before_retry");
      const retried = await port.retry(turn.event);
      failpoint("ingress.retried");
      return [retried];
    },
    { sizeMax: 1, inFlightMax: RETRIES_MAX },
  );
  const { areNotCompleted } = port;
  const lookups =
    areNotCompleted &&
    createBatcher<EventKey, boolean>(
      async (events) => {
        const ask = () => areNotCompleted(events);
        // A server that was restored has cut the connection; the second try makes another one.
        return await ask().catch(ask);
      },
      { sizeMax: LOOKUPS_MAX },
    );

  return {
    retry: async (events: readonly IncomingEvent[], timeoutMs: number): Promise<boolean> => {
      const deadlineMs = performance.now() + timeoutMs;
      const source = events[0]?.source ?? "";
      try {
        const retries = events.map((event) => turns.add({ event, deadlineMs }));
        const results = await withDeadline(Promise.all(retries), timeoutMs, late);
        if (results.includes("retried")) notify({ kind: "redelivered", source });
        return true;
      } catch (error) {
        notify({ kind: "redelivered", source, error });
        return false;
      }
    },
    /** Those that the ledger has as not completed: Postgres was restored or failed over. */
    findUndone: async (
      events: readonly IncomingEvent[],
      timeoutMs: number,
    ): Promise<readonly IncomingEvent[]> => {
      if (lookups === undefined) return [];
      const answers = Promise.all(events.map((event) => lookups.add(event)));
      try {
        const undone = await withDeadline(answers, timeoutMs * LOOKUP_SHARE, late);
        return events.filter((_, index) => undone[index] === true);
      } catch {
        return [];
      }
    },
  };
}

function late(): Error {
  return new Error("Cannot retry the event: it took too long");
}
