import type { Config } from "@millrace/core";
import type { Queues } from "./queues.ts";

/** Above it Redis is close to refusing every write, including those that would drain it. */
const MEMORY_SHARE_MAX = 0.8;

/**
 * Tells whether a source's queue, or the memory that all queues share, is past its limits. A ledger asks
 * too, before it enqueues what it has stored.
 */
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
