import type { EventKey } from "@millrace/core";
import type pg from "pg";
import { SUSPECT_REPLAY, SUSPECT_REPLAY_AGAIN } from "./sql/suspect-replay.ts";
import { together } from "./together.ts";

/** The first of its body; one that came after it; or another one of its body is just being handled,
 * and only when that has ended it is known which of them is the first. */
export type ReplayVerdict = "original" | "replay" | "undecided";

/**
 * Says whether a locked event whose id is not signed has the body of another one of the last 24 hours.
 * Of several at once exactly one is the original: whoever handles a body holds a lock on it, and looks
 * again behind that lock. The statements have no name: a plan from when the table was small would
 * read all of it later.
 */
export async function suspectReplay(client: pg.PoolClient, key: EventKey): Promise<ReplayVerdict> {
  const values = [key.source, key.eventId, key.generation];
  const [first, again] = await together(client, [
    { text: SUSPECT_REPLAY, values },
    { text: SUSPECT_REPLAY_AGAIN, values },
  ]);
  const { verdict } = (first as pg.QueryResult<{ verdict: ReplayVerdict }>).rows[0] ?? {};
  if (verdict !== "original") return verdict ?? "undecided";
  const [row] = (again as pg.QueryResult<{ is_replay: boolean }>).rows;
  return row?.is_replay === false ? "original" : "replay";
}
