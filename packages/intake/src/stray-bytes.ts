import type { IncomingEvent } from "@millrace/core";

/** The bodies of calls that nobody waits for any longer: they are held until their call ends. */
export interface StrayBytes {
  readonly held: number;
  /** Counts the bodies of a call until it has ended. */
  add(call: Promise<unknown>, events: readonly IncomingEvent[]): void;
}

export function createStrayBytes(): StrayBytes {
  let held = 0;
  return {
    get held() {
      return held;
    },
    add: (call, events) => {
      const bytes = events.reduce((sum, { body }) => sum + body.byteLength, 0);
      held += bytes;
      void Promise.allSettled([call]).then(() => (held -= bytes));
    },
  };
}
