import { OF_DAY } from "./events-of-day.ts";

/**
 * A page of the events whose bodies lie in a day's partition, in the order of their record, from
 * behind $2 to $5 on: no more than $6, and about $7 bytes of bodies, and at least one. It begins anew
 * each time, so that no snapshot is held for as long as an archive takes: events that are completed
 * do not change, and none is added to a day that is over.
 */
export const ARCHIVE_PAGE = (partition: string, which: keyof typeof OF_DAY) => `
WITH page AS MATERIALIZED (
  SELECT * FROM millrace.events
  WHERE ${OF_DAY[which]}
    AND (recorded_at, source, event_id, generation) > ($2::timestamptz, $3, $4, $5::int)
  ORDER BY recorded_at, source, event_id, generation
  LIMIT $6
),
sized AS (
  SELECT page.*, b.headers, b.body,
    coalesce(sum(octet_length(b.body)) OVER (
      ORDER BY recorded_at, source, event_id, generation
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS bytes_before
  FROM page LEFT JOIN millrace.${partition} b ON b.day = $1::date AND b.id = page.body_id
)
SELECT source, event_id, generation, type, status, outcome, attempts, unsigned, body_hash,
  received_at, recorded_at, started_at, processed_at, last_error, last_error_code,
  (recorded_at AT TIME ZONE 'UTC')::text || '+00' AS recorded_at_text, headers, body
FROM sized WHERE bytes_before < $7::bigint
ORDER BY recorded_at, source, event_id, generation`;
