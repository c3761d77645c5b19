import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "@millrace/core";
import type { Reply } from "./post-delivery.ts";

export interface SendPlan {
  /** Deliveries in all. */
  readonly total: number;
  /** Deliveries in flight at once, at most. */
  readonly concurrency: number;
  /** Deliveries a second, at most; undefined for as fast as the answers come. */
  readonly ratePerSecond: number | undefined;
}

/**
 * Makes `total` deliveries, each by `deliver` with its number from 0, and tells of each reply.
 *
 * @throws `ingress_unreachable` when the connection is refused before anything was answered.
 */
export async function sendAll(
  plan: SendPlan,
  deliver: (index: number) => Promise<Reply>,
  onReply: (reply: Reply) => void,
): Promise<void> {
  const startedAt = performance.now();
  let next = 0;
  let answered = false;

  async function lane(): Promise<void> {
    while (next < plan.total) {
      const index = next;
      next += 1;
      if (plan.ratePerSecond !== undefined) {
        const dueMs = (index / plan.ratePerSecond) * 1_000;
        await sleep(Math.max(0, startedAt + dueMs - performance.now()));
      }
      const reply = await deliver(index);
      if (reply.kind === "answer") answered = true;
      else if (reply.refused && !answered) {
        next = plan.total;
        throw unreachable(reply.reason);
      }
      onReply(reply);
    }
  }

  const lanes = Math.min(plan.concurrency, plan.total);
  await Promise.all(Array.from({ length: lanes }, lane));
}

function unreachable(reason: string): MillraceError {
  return new MillraceError(
    "ingress_unreachable",
    `Cannot reach an ingress: ${reason}. Is \`npm start\` (or \`millrace start\`) running?`,
  );
}
