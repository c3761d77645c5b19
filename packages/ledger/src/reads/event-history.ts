import type { EventAct, EventStep } from "@millrace/api-contract";
import type { EventKey, EventLookup } from "@millrace/core";
import { and, asc, eq, sql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { steps } from "../schema/schema.ts";

/** A person who retries an event over and over must not fill a page: the latest acts are shown. */
const ACTS_MAX = 50;
const STEPS_MAX = 100;
/** A member is found by its run, so the latest runs are asked one by one. */
const RUNS_MAX = 1_000;

export async function selectActs(
  db: NodePgDatabase,
  { source, eventId }: EventLookup,
): Promise<EventAct[]> {
  const { rows } = await db.execute<Row>(sql`
    SELECT extract(epoch FROM at)::float8 * 1000 AS ms, action, actor, via, reason, generation, run FROM (
      (
        SELECT at, action, actor, via, reason, generation, NULL::float8 AS run
        FROM millrace.audit
        WHERE source = ${source} AND event_id = ${eventId} AND action IN ('retry', 'replay', 'give_up')
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
          WHERE run_id = r.id AND source = ${source} AND event_id = ${eventId} AND skipped IS NULL
          ORDER BY generation DESC LIMIT 1
        ) AS m
        ORDER BY r.id DESC LIMIT ${ACTS_MAX}
      )
    ) AS acts
    ORDER BY at DESC LIMIT ${ACTS_MAX}`);
  return rows.map(({ ms, ...act }) => ({ at: new Date(ms).toISOString(), ...act })).toReversed();
}

type Row = Omit<EventAct, "at"> & { readonly ms: number } & Record<string, unknown>;

/** Without their results, the user's data. */
export async function selectSteps(db: NodePgDatabase, key: EventKey): Promise<EventStep[]> {
  const rows = await db
    .select({ name: steps.name, attempt: steps.attempt, at: steps.recordedAt })
    .from(steps)
    .where(
      and(
        eq(steps.source, key.source),
        eq(steps.eventId, key.eventId),
        eq(steps.generation, key.generation),
      ),
    )
    .orderBy(asc(steps.recordedAt), asc(steps.name))
    .limit(STEPS_MAX);
  return rows.map(({ at, ...step }) => ({ at: at.toISOString(), ...step }));
}
