import { createCoalescer, failpoint, within, type EventKey } from "@millrace/core";
import type { Notify } from "./notice.ts";
import type { RedeliveryPort } from "./ports.ts";

/** Makes failed events run again. False when not all of them could be in time; what was begun of it
 * goes on. Never rejects. */
export type Redeliver = (events: readonly EventKey[], timeoutMs: number) => Promise<boolean>;

/** Retries under way at once. Each takes connections that deliveries are waiting for. */
const AT_ONCE = 2;

/** Retries that are not in time are not begun any more once their sender was answered. */
export function createRedeliver(port: RedeliveryPort, notify: Notify): Redeliver {
  const turns = createCoalescer<{ event: EventKey; deadlineMs: number }, undefined>(
    async ([turn]) => {
      if (turn === undefined) return [];
      if (performance.now() > turn.deadlineMs) throw late();
      failpoint("ingress.before_retry");
      await port.retry(turn.event);
      failpoint("ingress.retried");
      return [undefined];
    },
    { sizeMax: 1, inFlightMax: AT_ONCE },
  );

  return async (events, timeoutMs) => {
    const deadlineMs = performance.now() + timeoutMs;
    const source = events[0]?.source ?? "";
    try {
      const retries = events.map((event) => turns.add({ event, deadlineMs }));
      await within(Promise.all(retries), timeoutMs, late);
      notify({ kind: "redelivered", source });
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
