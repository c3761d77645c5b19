import type { EventKey } from "@millrace/core";
import type pg from "pg";
import { pipeline } from "./connection.ts";

/** The first event with its body; one that came after it; or undecided, while another event with this
 * body is being handled: only at the end of that it is known which of them is the first. */
export type ReplayVerdict = "original" | "replay" | "undecided";

/**
 * Another event of the source with the same body, recorded at most a day apart, that makes `mine` a
 * replay: one that comes before it, or one that has been handled already because it could not see the
 * earlier one, which was not committed yet.
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
 * Whether the event is a replay. If it seems to be original, takes a lock that keeps others from
 * handling this body until the transaction ends; `undecided` if another transaction has that lock.
 */
const SUSPECT_REPLAY = `
SELECT CASE
  WHEN EXISTS (${ORIGINAL}) THEN 'replay'
  WHEN pg_try_advisory_xact_lock(
    hashtextextended(concat_ws(' ', 'millrace.body', mine.source, mine.body_hash), 0)
  ) THEN 'original'
  ELSE 'undecided'
END AS verdict ${MINE}`;

/** Looks again: this statement began when no one else could handle the body, and sees all that had. */
const SUSPECT_REPLAY_AGAIN = `SELECT EXISTS (${ORIGINAL}) AS is_replay ${MINE}`;

/**
 * Decides whether a locked event with an unsigned id has the body of another event of the last 24 hours.
 * Of several at the same time exactly one is the original: the handler of a body holds a lock on it and
 * looks again under that lock. The statements are not prepared: a plan from when the table was small
 * would read all of it later.
 */
export async function suspectReplay(client: pg.PoolClient, key: EventKey): Promise<ReplayVerdict> {
  const values = [key.source, key.eventId, key.generation];
  const [first, again] = await pipeline(client, [
    { text: SUSPECT_REPLAY, values },
    { text: SUSPECT_REPLAY_AGAIN, values },
  ]);
  const { verdict } = (first as pg.QueryResult<{ verdict: ReplayVerdict }>).rows[0] ?? {};
  if (verdict !== "original") return verdict ?? "undecided";
  const [row] = (again as pg.QueryResult<{ is_replay: boolean }>).rows;
  return row?.is_replay === false ? "original" : "replay";
}
