import type pg from "pg";
import { bind, type Methods } from "../connection/bind.ts";
import { withLeadership, type LeadershipResult } from "../repair/leader.ts";
import { listPartitions, type BodyPartition } from "./body-partitions.ts";
import { deleteErrors, deleteRuns, forgetFinds } from "./delete-records.ts";
import { deleteKeys } from "./delete-keys.ts";
import { detachPartition, dropPartition } from "./drop-partition.ts";
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
  /** Runs `work` unless another process is doing so; then it returns `taken`. */
  withLeadership<T>(work: (signal: AbortSignal) => Promise<T>): Promise<LeadershipResult<T>>;
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
    withLeadership: (work) => withLeadership(pool, "retention", work),
    detach: (partition, signal) => detachPartition(pool, partition, { waitMs, signal }),
    drop: (partition, signal) => dropPartition(pool, partition, { waitMs, signal }),
  };
}
