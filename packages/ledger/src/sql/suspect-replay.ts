/**
 * Another event of the source with the same body, recorded at most a day apart, which makes `mine` a
 * replay: one that comes before it, or one that has been handled already because it could not see the
 * one before it, whose record was not committed yet.
 */
const ORIGINAL = `
  SELECT FROM millrace.events other
  WHERE other.unsigned AND other.source = mine.source AND other.body_hash = mine.body_hash
    AND other.event_id <> mine.event_id AND other.generation = 0
    AND other.outcome IS DISTINCT FROM 'suspected_replay'
    AND other.recorded_at BETWEEN mine.recorded_at - interval '24 hours'
      AND mine.recorded_at + interval '24 hours'
    AND (other.status = 'completed'
      OR (other.recorded_at, other.event_id) < (mine.recorded_at, mine.event_id))`;

const MINE = `
  FROM millrace.events mine
  WHERE mine.source = $1 AND mine.event_id = $2 AND mine.generation = $3`;

/**
 * Says whether the event is a replay; and if it seems not to be, lets nobody else handle this body
 * until the transaction ends, or says that somebody just does.
 */
export const SUSPECT_REPLAY = `
SELECT CASE
  WHEN EXISTS (${ORIGINAL}) THEN 'replay'
  WHEN pg_try_advisory_xact_lock(
    hashtextextended(concat_ws(' ', 'millrace.body', mine.source, mine.body_hash), 0)
  ) THEN 'original'
  ELSE 'undecided'
END AS verdict ${MINE}`;

/** Looks again, with the eyes of a statement that was begun when nobody else could handle the body. */
export const SUSPECT_REPLAY_AGAIN = `SELECT EXISTS (${ORIGINAL}) AS is_replay ${MINE}`;
