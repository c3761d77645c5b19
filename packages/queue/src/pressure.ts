import { wait, type Config } from "@millrace/core";
import type { Pressure, Queues, SourcePressure } from "./queues.ts";

export interface PressureReading {
  readonly memoryShare: number | undefined;
  readonly sources: ReadonlyMap<string, SourcePressure>;
}

const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 10_000;
/** Measuring takes no more than one part in so many of the time. */
const SHARE = 20;

const EMPTY: SourcePressure = { depth: 0, oldestAgeMs: undefined };

/** Measures in the background, so that the ingress need not ask for each request. */
export function createPressureGauge(
  read: () => Promise<PressureReading>,
  risk: () => Pressure["risk"],
) {
  const closing = new AbortController();
  let reading: PressureReading = { memoryShare: undefined, sources: new Map() };
  let measuring = false;

  async function keepMeasuring(): Promise<void> {
    while (!closing.signal.aborted) {
      const began = performance.now();
      const tookMs = await readOnce().then(
        () => performance.now() - began,
        () => 0,
      );
      await wait(Math.min(Math.max(PAUSE_MS, tookMs * SHARE), PAUSE_MS_MAX), closing.signal);
    }
  }

  // A queue that cannot be measured keeps what was measured before.
  async function readOnce(): Promise<void> {
    const { memoryShare, sources } = await read();
    reading = { memoryShare, sources: new Map([...reading.sources, ...sources]) };
  }

  const pressure: Pressure = {
    get risk() {
      return risk();
    },
    get memoryShare() {
      return reading.memoryShare;
    },
    of: (source) => reading.sources.get(source) ?? EMPTY,
  };
  return {
    pressure: () => {
      if (!measuring) void keepMeasuring();
      measuring = true;
      return pressure;
    },
    measure: async () => {
      await readOnce();
      return pressure;
    },
    close: () => closing.abort(),
  };
}

/** Above this share Redis is close to refusing all writes, those that end jobs too. */
const MEMORY_SHARE_MAX = 0.8;

export function createQueueLimits(
  queue: Pick<Queues, "pressure">,
  sources: Config["sources"],
): (source: string) => boolean {
  return (source) => {
    const policy = sources[source]?.options;
    if (policy === undefined) return false;
    const pressure = queue.pressure();
    if ((pressure.memoryShare ?? 0) > MEMORY_SHARE_MAX) return true;
    const { depth, oldestAgeMs } = pressure.of(source);
    const { queueDepthMax, queueAgeMsMax } = policy;
    if (depth >= queueDepthMax) return true;
    return queueAgeMsMax !== undefined && (oldestAgeMs ?? 0) > queueAgeMsMax;
  };
}
