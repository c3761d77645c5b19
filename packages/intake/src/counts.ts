import {
  createBacklog,
  settlesWithin,
  wait,
  type DeliveryOutcome,
  type ErrorCode,
  type IncomingEvent,
  type SignatureReason,
  type StoreResult,
} from "@millrace/core";
import type { Ledger, NotedRefusals } from "@millrace/ledger";

export type DeliveryCounter = ReturnType<typeof createDeliveryCounter>;

export interface DeliveryCounterOptions {
  readonly ingress: string;
  readonly onLost: (deliveries: number, error: unknown) => void;
}

/** One statement a second. A lost delivery changes only a number on a page. */
export function createDeliveryCounter(
  { noteDeliveries }: Pick<Ledger["intake"], "noteDeliveries">,
  { ingress, onLost }: DeliveryCounterOptions,
) {
  const backlog = createBacklog<Parameters<typeof noteDeliveries>[1][number]>(
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
    add: (events: readonly IncomingEvent[], results: readonly StoreResult[]): void => {
      for (const [index, result] of results.entries()) {
        const event = events[index];
        if (event === undefined || result === "accepted" || result instanceof Error) continue;
        const { source, eventId, acceptedAtMs: atMs } = event;
        backlog.add({ source, eventId, outcome: OUTCOMES[result], atMs });
      }
    },
    close: (timeoutMs: number) => backlog.close(timeoutMs),
  };
}

/** A delivery of a completed job is a duplicate; only the queue distinguishes the two. */
const OUTCOMES: Record<Exclude<StoreResult, "accepted" | Error>, DeliveryOutcome> = {
  duplicate: "duplicate",
  completed: "duplicate",
  conflict: "conflict",
  failed: "failed",
};

export type RefusalCounter = ReturnType<typeof createRefusalCounter>;

const LINGER_MS = 1_000;
/** The pause after a failure: counts must not load a Postgres that has just come back. */
const RETRY_MS = 5_000;
/** An older count is dropped: the page shows only the last minutes. */
const KEPT_MS = 10 * 60_000;

/** Shorter than the minutes of the table, which begin at another moment than those of a process. */
const SLICE_MS = 5_000;

type Count = Omit<NotedRefusals, "agoMs"> & { readonly slice: number };

/** One statement a second: a flood costs a few numbers and rows. Kept for ten minutes. */
export function createRefusalCounter(
  { noteRefusals }: Pick<Ledger["intake"], "noteRefusals">,
  nowMs: () => number = () => performance.now(),
) {
  const counts = new Map<string, Count>();
  const closing = new AbortController();
  let working: Promise<void> | undefined;

  function count({ slice, source, code, deliveries }: Count): void {
    const key = `${slice} ${code} ${source ?? ""}`;
    const before = counts.get(key)?.deliveries ?? 0;
    counts.set(key, { slice, source, code, deliveries: before + deliveries });
  }

  async function write(): Promise<void> {
    let restMs = LINGER_MS;
    while (counts.size > 0) {
      await wait(restMs, closing.signal);
      const isLast = closing.signal.aborted;
      const taken = [...counts.values()];
      counts.clear();
      const now = nowMs();
      const kept = taken.filter(({ slice }) => now - slice * SLICE_MS < KEPT_MS);
      try {
        const noted = kept.map(({ slice, ...rest }) => {
          return { ...rest, agoMs: Math.max(0, now - slice * SLICE_MS) };
        });
        if (noted.length > 0) await noteRefusals(noted);
        restMs = LINGER_MS;
      } catch {
        // The pool's owner logs that Postgres is away.
        if (isLast) break;
        for (const one of kept) count(one);
        restMs = RETRY_MS;
      }
    }
    working = undefined;
  }

  return {
    add: (source: string | undefined, code: ErrorCode | SignatureReason): void => {
      count({ slice: Math.floor(nowMs() / SLICE_MS), source, code, deliveries: 1 });
      if (!closing.signal.aborted) working ??= write();
    },
    close: async (timeoutMs: number): Promise<void> => {
      closing.abort();
      if (working !== undefined) await settlesWithin(working, timeoutMs);
    },
  };
}
