import { STANDING_COLUMNS } from "./standing-columns.ts";

/** How events stand, one row an event that the ledger has. They are looked up one by one (LIMIT 1),
 * because a join may be answered from a hash of the whole table. */
export const STANDINGS = `
SELECT ${STANDING_COLUMNS}
FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
CROSS JOIN LATERAL (
  SELECT * FROM millrace.events l
  WHERE l.source = w.source AND l.event_id = w.event_id AND l.generation = w.generation
  LIMIT 1
) e`;
