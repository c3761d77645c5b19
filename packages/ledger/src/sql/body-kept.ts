/**
 * Whether an event's body is still there. A scalar with LIMIT 1, because an EXISTS may be answered from
 * a hash of every body; looked up day by day, it reads one partition.
 */
export const BODY_KEPT = (event: string) => `(
    SELECT true FROM millrace.bodies b WHERE b.day = ${event}.body_day AND b.id = ${event}.body_id LIMIT 1
  ) IS TRUE`;
