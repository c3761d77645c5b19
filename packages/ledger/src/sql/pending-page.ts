import { STANDING_COLUMNS } from "./standing-columns.ts";

/**
 * The next pending events of several sources: of each ($1) those after a place ($2 to $4) in the order
 * of the index, at most so many ($5), that have been pending for longer than $6 milliseconds. The
 * condition decides by which index.
 */
const PENDING_PAGE = (condition: string) => `
SELECT ${STANDING_COLUMNS}, e.pending_since::text AS place
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::int[], $5::int[])
  AS s (source, pending_since, event_id, generation, page)
CROSS JOIN LATERAL (
  SELECT * FROM millrace.events p
  WHERE p.source = s.source AND p.status = 'pending' ${condition}
    AND p.pending_since < now() - make_interval(secs => $6::float8 / 1000)
    AND (p.pending_since, p.event_id, p.generation) > (s.pending_since, s.event_id, s.generation)
  ORDER BY p.pending_since, p.event_id, p.generation
  LIMIT s.page
) e`;

/** Those that are not known to have a job. */
export const UNPLACED_PAGE = PENDING_PAGE("AND p.enqueued_at IS NULL");

/** All of them. */
export const EVERY_PENDING_PAGE = PENDING_PAGE("");
