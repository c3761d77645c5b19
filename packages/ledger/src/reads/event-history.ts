import type { EventAct } from "@millrace/api-contract";
import type { EventLookup } from "@millrace/core";
import type pg from "pg";
import { toWire } from "../connection/rows.ts";

/** A person who retries an event over and over must not fill a page: the latest acts are shown. */
const ACTS_MAX = 50;
/** A member is found by its run, so the latest runs are asked one by one. */
const RUNS_MAX = 1_000;

const ACTS = `
SELECT at, action, actor, via, reason, generation, run FROM (
  (
    SELECT at, action, actor, via, reason, generation, NULL::float8 AS run
    FROM millrace.audit
    WHERE source = $1 AND event_id = $2 AND action IN ('retry', 'replay', 'give_up')
    ORDER BY id DESC LIMIT ${ACTS_MAX}
  )
  UNION ALL
  (
    SELECT r.created_at, r.verb || '_many', r.started_by, r.via, r.reason, m.generation, r.id::float8
    FROM (
      SELECT id, created_at, verb, started_by, via, reason FROM millrace.bulk_runs
      ORDER BY id DESC LIMIT ${RUNS_MAX}
    ) AS r
    CROSS JOIN LATERAL (
      SELECT generation FROM millrace.bulk_members
      WHERE run_id = r.id AND source = $1 AND event_id = $2 AND skipped IS NULL
      ORDER BY generation DESC LIMIT 1
    ) AS m
    ORDER BY r.id DESC LIMIT ${ACTS_MAX}
  )
) AS acts
ORDER BY at DESC LIMIT ${ACTS_MAX}`;

export async function selectActs(
  client: pg.ClientBase,
  { source, eventId }: EventLookup,
): Promise<EventAct[]> {
  const { rows } = await client.query<EventAct>(ACTS, [source, eventId]);
  return rows.map(toWire).toReversed();
}
