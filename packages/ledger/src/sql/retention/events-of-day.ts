/** Events whose body lies in another day's partition than the one they were recorded on. */
const IS_MOVED = "body_day <> (recorded_at AT TIME ZONE 'UTC')::date";

/** Events of the day $1 that have their bodies there still. */
const IS_RECORDED_THEN = `body_day = $1::date
    AND recorded_at >= $1::date::timestamp AT TIME ZONE 'UTC'
    AND recorded_at < ($1::date + 1)::timestamp AT TIME ZONE 'UTC'`;

const IS_MOVED_THERE = `body_day = $1::date AND ${IS_MOVED}`;

/** The two conditions under which a body lies in the partition of the day $1; each is an index' own,
 * and no event fulfils both. */
export const OF_DAY = { recordedThen: IS_RECORDED_THEN, movedThere: IS_MOVED_THERE } as const;

/** How many events have their bodies in the partition of the day $1. */
export const COUNT_EVENTS = `
SELECT (SELECT count(*) FROM millrace.events WHERE ${IS_RECORDED_THEN})
  + (SELECT count(*) FROM millrace.events WHERE ${IS_MOVED_THERE}) AS count`;

/** Events that are not completed whose bodies lie in a partition, at most $2 of each kind. A body that
 * is not there any more cannot be moved, and is not waited for. */
export const UNSETTLED = (partition: string) => {
  const select = (where: string) => `
  (SELECT source, event_id, generation FROM millrace.events e
    WHERE ${where} AND (
      SELECT true FROM millrace.${partition} b WHERE b.day = $1::date AND b.id = e.body_id LIMIT 1
    ) IS TRUE
    LIMIT $2)`;
  return [
    select("status = 'pending' AND body_day = $1::date"),
    select(`status = 'failed' AND ${IS_RECORDED_THEN}`),
    select(`status = 'failed' AND ${IS_MOVED_THERE}`),
  ].join("\n  UNION ALL");
};
