import type { Pressure, Queues } from "@millrace/queue";

/** How many jobs may be added to each queue without harm. */
export interface Room {
  /** Looks at the queues again, when the last look was a while ago. */
  refresh(): Promise<void>;
  /** Takes a place in a source's queue; false when there is none. */
  take(source: string): boolean;
  has(source: string): boolean;
}

/** Parts of what the ingress fills, so that what comes in meanwhile still finds room. */
const DEPTH_SHARE = 0.9;
const MEMORY_SHARE_MAX = 0.75;
/**
 * Jobs of a source that may wait while memory is short. There must be some: BullMQ throws completed jobs
 * away only as others complete, so that memory would stay short for ever.
 */
const DEPTH_WHEN_SHORT = 1_000;
const REFRESH_MS = 1_000;

/**
 * Keeps count of the room in the queues: the ledger's backlog must neither push a queue past its depth
 * nor Redis past its memory, which would send what comes in to the ledger in turn.
 */
export function createRoom(
  queues: Pick<Queues, "measurePressure">,
  depthMaxOf: (source: string) => number,
): Room {
  let pressure: Pressure | undefined;
  let lookedAtMs = -Infinity;
  let taken = new Map<string, number>();

  function left(source: string): number {
    if (pressure === undefined) return 0;
    const isShort = (pressure.memoryShare ?? 0) >= MEMORY_SHARE_MAX;
    const share = Math.max(1, Math.floor(depthMaxOf(source) * DEPTH_SHARE));
    const max = isShort ? Math.min(share, DEPTH_WHEN_SHORT) : share;
    return Math.max(0, max - pressure.of(source).depth - (taken.get(source) ?? 0));
  }

  return {
    refresh: async () => {
      if (performance.now() - lookedAtMs < REFRESH_MS) return;
      pressure = await queues.measurePressure();
      lookedAtMs = performance.now();
      taken = new Map();
    },
    take: (source) => {
      if (left(source) === 0) return false;
      taken.set(source, (taken.get(source) ?? 0) + 1);
      return true;
    },
    has: (source) => left(source) > 0,
  };
}
