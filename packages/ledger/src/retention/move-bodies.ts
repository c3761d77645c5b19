import { failpoint } from "@millrace/core";
import type pg from "pg";
import { withPartitions } from "../partitions.ts";
import { COUNT_EVENTS } from "../sql/retention/events-of-day.ts";
import { COUNT_UNSETTLED, MOVE_BODIES } from "../sql/retention/move-bodies.ts";
import { runStatement } from "../transaction.ts";
import { tableOf, type BodyPartition } from "./body-partitions.ts";
import { BATCH, COUNT } from "./retention-times.ts";

/** What became of one batch. */
export interface MovedBodies {
  /** Events that were seen to need their bodies: 0 when the partition holds none such any more. */
  readonly found: number;
  /** Events whose bodies are in today's partition now. Less than found when attempts hold some. */
  readonly moved: number;
  readonly bytes: number;
}

const EVENTS_MAX = 500;
const BYTES_MAX = 8 * 1024 * 1024;

/**
 * Moves a batch of the bodies of events that are not completed from a day's partition to today's.
 *
 * @throws `database_unavailable`; then the batch is undone, and nothing else.
 */
export async function moveBodies(pool: pg.Pool, partition: BodyPartition): Promise<MovedBodies> {
  const values = [partition.day, EVENTS_MAX, BYTES_MAX];
  const { rows } = await withPartitions(pool, () =>
    runStatement<{ found: string; moved: string; bytes: number }>(
      pool,
      { text: MOVE_BODIES(tableOf(partition)), values },
      BATCH,
    ),
  );
  failpoint("retention.moved");
  const row = rows[0];
  return { found: Number(row?.found), moved: Number(row?.moved), bytes: row?.bytes ?? 0 };
}

/**
 * Counts the events that are not completed whose bodies lie in a partition.
 *
 * @throws `database_unavailable`
 */
export async function countUnsettled(pool: pg.Pool, partition: BodyPartition): Promise<number> {
  return await count(pool, COUNT_UNSETTLED(tableOf(partition)), [partition.day, null]);
}

/**
 * Counts all events whose bodies lie in a partition.
 *
 * @throws `database_unavailable`
 */
export async function countEventsOf(pool: pg.Pool, { day }: BodyPartition): Promise<number> {
  return await count(pool, COUNT_EVENTS, [day]);
}

async function count(pool: pg.Pool, text: string, values: unknown[]): Promise<number> {
  const { rows } = await runStatement<{ count: string }>(pool, { text, values }, COUNT);
  return Number(rows[0]?.count);
}
