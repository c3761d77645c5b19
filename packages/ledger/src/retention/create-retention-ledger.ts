import type pg from "pg";
import { alone, type Alone } from "./alone.ts";
import { archivePages, type ArchivedEvent } from "./archive-pages.ts";
import { listPartitions, type BodyPartition } from "./body-partitions.ts";
import { countExpiredKeys, deleteKeys, type DeletedKeys, type ExpiredKeys } from "./delete-keys.ts";
import { detachPartition, dropPartition } from "./drop-partition.ts";
import { countEventsOf, countUnsettled, moveBodies, type MovedBodies } from "./move-bodies.ts";

/** What the ledger does to keep no more than it must. Every step alone loses nothing. */
export interface RetentionLedger {
  /** Runs `work` while no other process does; `taken` when one does. */
  alone<T>(work: (signal: AbortSignal) => Promise<T>): Promise<Alone<T>>;
  partitions(): Promise<readonly BodyPartition[]>;
  countEventsOf(partition: BodyPartition): Promise<number>;
  countUnsettled(partition: BodyPartition): Promise<number>;
  moveBodies(partition: BodyPartition): Promise<MovedBodies>;
  archivePages(partition: BodyPartition): AsyncIterable<readonly ArchivedEvent[]>;
  detach(partition: BodyPartition, signal?: AbortSignal): Promise<"detached" | "busy">;
  drop(partition: BodyPartition, signal?: AbortSignal): Promise<"dropped" | "busy">;
  countExpiredKeys(expired: ExpiredKeys): Promise<number>;
  deleteKeys(expired: ExpiredKeys, from?: string): Promise<DeletedKeys>;
}

export interface RetentionLedgerOptions {
  /** Milliseconds that a drop waits for the transactions that use the table of bodies, the handlers'
   * among them. Whoever comes after them does not wait. Default 45,000. */
  readonly dropWaitMs?: number;
}

/** Makes it over a pool of `createPool`, of which it uses two connections at the most. */
export function createRetentionLedger(
  { pool }: { readonly pool: pg.Pool },
  { dropWaitMs: waitMs = 45_000 }: RetentionLedgerOptions = {},
): RetentionLedger {
  return {
    alone: (work) => alone(pool, "retention", work),
    partitions: () => listPartitions(pool),
    countEventsOf: (partition) => countEventsOf(pool, partition),
    countUnsettled: (partition) => countUnsettled(pool, partition),
    moveBodies: (partition) => moveBodies(pool, partition),
    archivePages: (partition) => archivePages(pool, partition),
    detach: (partition, signal) => detachPartition(pool, partition, { waitMs, signal }),
    drop: (partition, signal) => dropPartition(pool, partition, { waitMs, signal }),
    countExpiredKeys: (expired) => countExpiredKeys(pool, expired),
    deleteKeys: (expired, from) => deleteKeys(pool, expired, from),
  };
}
