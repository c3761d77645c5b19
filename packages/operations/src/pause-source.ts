import { MillraceError } from "@millrace/core";
import type { Queues } from "@millrace/queue";

interface Deps {
  readonly queues: Pick<Queues, "queues" | "ping" | "pause" | "resume">;
}

/**
 * Makes every worker leave a source's events alone; what runs goes on, and what comes in is kept.
 *
 * @throws `unknown_source`; `redis_unreachable` or `database_unreachable` when the queue does not
 * answer.
 */
export async function pauseSource({ queues }: Deps, source: string): Promise<void> {
  requireKnown(queues, source);
  await queues.ping();
  await queues.pause(source);
}

/**
 * Makes the workers run a source's events again.
 *
 * @throws `unknown_source`; `redis_unreachable` or `database_unreachable` when the queue does not
 * answer.
 */
export async function resumeSource({ queues }: Deps, source: string): Promise<void> {
  requireKnown(queues, source);
  await queues.ping();
  await queues.resume(source);
}

function requireKnown(queues: Pick<Queues, "queues">, source: string): void {
  if (queues.queues.has(source)) return;
  throw new MillraceError("unknown_source", "Cannot find the source: it is not configured");
}
