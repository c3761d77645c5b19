import { wait } from "@millrace/core";
import type { Pressure, SourcePressure } from "./queues.ts";

/** What one look at all queues found. */
export interface PressureReading {
  readonly memoryShare: number | undefined;
  readonly sources: ReadonlyMap<string, SourcePressure>;
}

export interface PressureGauge {
  /** The last reading. The first call begins to look. */
  pressure(): Pressure;
  /** Looks now. */
  measure(): Promise<Pressure>;
  close(): void;
}

/** Milliseconds between looks, where looking is cheap. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 10_000;
/** Looking takes no more than one part in so many of the time. */
const SHARE = 20;

const NOTHING: SourcePressure = { depth: 0, oldestAgeMs: undefined };

/**
 * Looks at the queues from time to time, so that whoever decides on each request need not ask. A look
 * that fails leaves the reading before it: that the server does not answer is told elsewhere.
 */
export function createPressureGauge(look: () => Promise<PressureReading>): PressureGauge {
  const closing = new AbortController();
  let reading: PressureReading = { memoryShare: undefined, sources: new Map() };
  let looking = false;

  async function keepLooking(): Promise<void> {
    while (!closing.signal.aborted) {
      const tookMs = await lookOnce();
      await wait(Math.min(Math.max(PAUSE_MS, tookMs * SHARE), PAUSE_MS_MAX), closing.signal);
    }
  }

  async function lookOnce(): Promise<number> {
    const began = performance.now();
    try {
      reading = await look();
    } catch {
      return 0;
    }
    return performance.now() - began;
  }

  const pressure: Pressure = {
    get memoryShare() {
      return reading.memoryShare;
    },
    of: (source) => reading.sources.get(source) ?? NOTHING,
  };
  return {
    pressure: () => {
      if (!looking) void keepLooking();
      looking = true;
      return pressure;
    },
    measure: async () => {
      reading = await look();
      return pressure;
    },
    close: () => closing.abort(),
  };
}
