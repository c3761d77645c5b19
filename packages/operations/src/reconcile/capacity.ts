import type { Pressure, Queues } from "@millrace/queue";

export type Capacity = ReturnType<typeof createCapacity>;

/** Shares of the limits that the ingress fills, so that new deliveries still find capacity. */
const DEPTH_SHARE = 0.9;
const MEMORY_SHARE_MAX = 0.75;
/** BullMQ removes completed jobs only as others complete, so some jobs must go on. */
const DEPTH_WHEN_SHORT = 1_000;
const REFRESH_MS = 1_000;

/** Keeps the ledger's backlog from filling a queue, which would then refuse new deliveries. */
export function createCapacity(
  queues: Pick<Queues, "measurePressure">,
  depthMaxOf: (source: string) => number,
) {
  let pressure: Pressure | undefined;
  let measuredAtMs = -Infinity;
  let taken = new Map<string, number>();

  function left(source: string): number {
    if (pressure === undefined) return 0;
    const isShort = (pressure.memoryShare ?? 0) >= MEMORY_SHARE_MAX;
    const share = Math.max(1, Math.floor(depthMaxOf(source) * DEPTH_SHARE));
    const max = isShort ? Math.min(share, DEPTH_WHEN_SHORT) : share;
    return Math.max(0, max - pressure.of(source).depth - (taken.get(source) ?? 0));
  }

  return {
    refresh: async (): Promise<void> => {
      if (performance.now() - measuredAtMs < REFRESH_MS) return;
      pressure = await queues.measurePressure();
      measuredAtMs = performance.now();
      taken = new Map();
    },
    take: (source: string): boolean => {
      if (left(source) === 0) return false;
      taken.set(source, (taken.get(source) ?? 0) + 1);
      return true;
    },
    has: (source: string): boolean => left(source) > 0,
  };
}
