import type { EventRow } from "@millrace/api-contract";
import type pg from "pg";
import { toWire } from "../connection/rows.ts";
import { EVENT_COLUMNS } from "../reads/event-row.ts";
import { runStatement } from "../connection/transaction.ts";
import { OF_DAY, tableOf, type BodyPartition } from "./body-partitions.ts";
import { BATCH } from "./retention-times.ts";

export interface ArchivedRow {
  readonly event: EventRow;
  readonly body_hash: string;
  /** Null when the body had been lost before, and the headers with it. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer | null;
}

const PAGE_MAX = 500;
const BYTES_MAX = 1024 * 1024;

/** A row of `ARCHIVE_PAGE`. Its times are Dates until `toWire` writes them. */
type PageRow = EventRow & Omit<ArchivedRow, "event"> & { readonly recorded_at_text: string };

// A page of a day's events behind $2 to $5: at most $6, about $7 bytes, at least one. Each page is
// a statement: no snapshot is held, and completed events do not change.
const ARCHIVE_PAGE = (partition: string, which: keyof typeof OF_DAY) => `
WITH page AS MATERIALIZED (
  SELECT * FROM millrace.events
  WHERE ${OF_DAY[which]}
    AND (recorded_at, source, event_id, generation) > ($2::timestamptz, $3, $4, $5::int)
  ORDER BY recorded_at, source, event_id, generation
  LIMIT $6
),
sized AS (
  SELECT page.*, coalesce(page.own_headers, b.headers) AS headers, b.body,
    coalesce(sum(octet_length(b.body)) OVER (
      ORDER BY recorded_at, source, event_id, generation
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS bytes_before
  FROM page LEFT JOIN millrace.${partition} b ON b.day = $1::date AND b.id = page.body_id
)
SELECT ${EVENT_COLUMNS}, body_hash,
  (recorded_at AT TIME ZONE 'UTC')::text || '+00' AS recorded_at_text, headers, body
FROM sized e WHERE bytes_before < $7::bigint
ORDER BY recorded_at, source, event_id, generation`;

export async function* archivePages(
  pool: pg.Pool,
  partition: BodyPartition,
): AsyncGenerator<readonly ArchivedRow[]> {
  for (const which of Object.keys(OF_DAY) as (keyof typeof OF_DAY)[]) {
    const text = ARCHIVE_PAGE(tableOf(partition), which);
    let behind: readonly unknown[] = ["-infinity", "", "", -1];
    for (;;) {
      const values = [partition.day, ...behind, PAGE_MAX, BYTES_MAX];
      const { rows } = await runStatement<PageRow>(pool, { text, values }, BATCH);
      const last = rows.at(-1);
      if (last === undefined) break;
      behind = [last.recorded_at_text, last.source, last.event_id, last.generation];
      yield rows.map(({ recorded_at_text: _text, body_hash, headers, body, ...event }) => {
        return { event: toWire(event), body_hash, headers, body };
      });
    }
  }
}
