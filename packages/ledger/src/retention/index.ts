import type pg from "pg";
import { bind, type Methods } from "../connection/bind.ts";
import { Leader } from "../repair/leader.ts";
import {
  detachPartition,
  dropPartition,
  listPartitions,
  type BodyPartition,
} from "./body-partitions.ts";
import { deleteErrors, deleteKeys, deleteRuns, forgetFinds } from "./delete-records.ts";
import { moveBodies } from "./move-bodies.ts";

const steps = {
  partitions: listPartitions,
  moveBodies,
  deleteKeys,
  deleteErrors,
  deleteRuns,
  forgetFinds,
};

/** The steps that delete what need not be kept any longer. No step on its own loses anything. */
export interface RetentionLedger extends Methods<pg.Pool, typeof steps> {
  /** Undefined at once when another process leads. The signal aborts when the lead is lost. */
  withLeadership<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  detach(partition: BodyPartition, signal?: AbortSignal): Promise<"detached" | "busy">;
  drop(partition: BodyPartition, signal?: AbortSignal): Promise<"dropped" | "busy">;
}

/** Takes at most two connections. A drop waits for transactions for `dropWaitMs` (45 seconds). */
export function createRetentionLedger(
  { pool }: { readonly pool: pg.Pool },
  { dropWaitMs: waitMs = 45_000 } = {},
): RetentionLedger {
  return {
    ...bind(pool, steps),
    async withLeadership(work) {
      const leader = new Leader({ pool }, "retention");
      try {
        const lost = await leader.lead();
        return lost && (await work(lost));
      } finally {
        await leader.close();
      }
    },
    detach: (partition, signal) => detachPartition(pool, partition, { waitMs, signal }),
    drop: (partition, signal) => dropPartition(pool, partition, { waitMs, signal }),
  };
}
