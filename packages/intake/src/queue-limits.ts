import type { Config } from "@millrace/core";
import type { QueuePressure } from "./ports.ts";

/** Above it Redis is near to refusing every write, those that would drain it too. */
const MEMORY_SHARE_MAX = 0.8;

/** Says of a source whether its queue, or the memory of all of them, is past its limits. */
export function createQueueLimits(
  queue: { pressure(): QueuePressure },
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
