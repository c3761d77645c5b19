import { createBatcher, failpoint, withDeadline, type EventKey } from "@millrace/core";
import type { RedeliveryPort } from "./event-store.ts";
import type { Notify } from "./notice.ts";

type Retried = Awaited<ReturnType<RedeliveryPort["retry"]>>;

/** Retries failed events. False when not all of them could be retried in time; what was begun goes
 * on. Never rejects. */
export type Redeliver = (events: readonly EventKey[], timeoutMs: number) => Promise<boolean>;

/** Retries in flight at once. Each takes connections that deliveries wait for. */
const RETRIES_MAX = 2;

/** Makes the retry of delivered events. A retry is not begun once its sender has been answered. */
export function createRedeliver(port: RedeliveryPort, notify: Notify): Redeliver {
  const turns = createBatcher<{ event: EventKey; deadlineMs: number }, Retried>(
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

  return async (events, timeoutMs) => {
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
  };
}

function late(): Error {
  return new Error("Cannot retry the event: it took too long");
}
