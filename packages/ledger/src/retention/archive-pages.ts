import type pg from "pg";
import type { EventRow } from "../event-row.ts";
import { ARCHIVE_PAGE } from "../sql/retention/archive-page.ts";
import { OF_DAY } from "../sql/retention/events-of-day.ts";
import { runStatement } from "../transaction.ts";
import { tableOf, type BodyPartition } from "./body-partitions.ts";
import { BATCH } from "./retention-times.ts";

type Instant = "received_at" | "recorded_at" | "started_at" | "processed_at";

/** An event with its body, as an archive keeps it. */
export interface ArchivedEvent extends Omit<EventRow, Instant> {
  readonly received_at: Date;
  readonly recorded_at: Date;
  readonly started_at: Date | null;
  readonly processed_at: Date | null;
  readonly body_hash: string;
  /** Null when the body had been lost before, and the headers with it. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer | null;
}

const PAGE_MAX = 500;
const BYTES_MAX = 1024 * 1024;

type Row = ArchivedEvent & { readonly recorded_at_text: string };

/**
 * Reads the events whose bodies lie in a partition, a page of about 1 MiB after the other.
 *
 * @throws `database_unavailable`
 */
export async function* archivePages(
  pool: pg.Pool,
  partition: BodyPartition,
): AsyncGenerator<readonly ArchivedEvent[]> {
  for (const which of Object.keys(OF_DAY) as (keyof typeof OF_DAY)[]) {
    const text = ARCHIVE_PAGE(tableOf(partition), which);
    let behind: readonly unknown[] = ["-infinity", "", "", -1];
    for (;;) {
      const values = [partition.day, ...behind, PAGE_MAX, BYTES_MAX];
      const { rows } = await runStatement<Row>(pool, { text, values }, BATCH);
      const last = rows.at(-1);
      if (last === undefined) break;
      behind = [last.recorded_at_text, last.source, last.event_id, last.generation];
      yield rows.map(({ recorded_at_text: _text, ...event }) => event);
    }
  }
}
