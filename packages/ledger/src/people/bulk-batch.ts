import { COUNT_MAX } from "@millrace/api-contract";
import { filterOf } from "@millrace/api-contract/run-text";
import { failpoint, MillraceError, type EnvelopedEvent, type EventKey } from "@millrace/core";
import type pg from "pg";
import { withPartitions } from "../schema/bodies.ts";
import type { OpenBulkRun } from "./bulk-runs.ts";
import { packKeys } from "../claims/event-batch.ts";
import { cursorOf, listQuery, type ListedRow } from "../reads/find-events.ts";
import { giveUpMany } from "./give-up.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { replay } from "./replay.ts";
import { retryMany } from "./retry-many.ts";
import { transaction, type Send } from "../connection/transaction.ts";

export type BulkBatch =
  /** The run was paused, stopped, or carried on by another worker: nothing was done. */
  | { readonly kind: "superseded" }
  | {
      readonly kind: "done";
      /** Pending now. The caller enqueues their jobs. */
      readonly events: readonly EnvelopedEvent[];
      /** Given up now. The caller removes their jobs. */
      readonly givenUp: readonly EventKey[];
      readonly ended: boolean;
    };

/** The fence: a worker that has lost the lead meets a cursor that the new leader has moved. */
const LOCK = `
SELECT events_max - listed AS left, skipped, canary, canary_state = 'due' AS "isCanaryDue"
FROM millrace.bulk_runs
WHERE id = $1 AND state = 'running' AND cursor IS NOT DISTINCT FROM $2
  AND canary_state IS DISTINCT FROM 'running'
FOR UPDATE`;

const ADD_MEMBERS = `
INSERT INTO millrace.bulk_members (run_id, source, event_id, generation)
SELECT $4, source, event_id, generation
FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
ON CONFLICT DO NOTHING
RETURNING source, event_id AS "eventId", generation`;

const NOTE_MEMBERS = `
UPDATE millrace.bulk_members m SET new_generation = w.new_generation, skipped = w.skipped
FROM unnest($1::text[], $2::text[], $3::int[], $5::int[], $6::text[])
  AS w (source, event_id, generation, new_generation, skipped)
WHERE m.run_id = $4 AND m.source = w.source AND m.event_id = w.event_id AND m.generation = w.generation`;

const MOVE_ON = `
UPDATE millrace.bulk_runs
SET cursor = coalesce($2, cursor), listed = listed + $3, done = done + $4, skipped = $5, error = NULL,
  taken_at = coalesce(taken_at, clock_timestamp()),
  state = CASE WHEN $6 THEN 'finished' ELSE state END,
  finished_at = CASE WHEN $6 THEN clock_timestamp() END,
  canary_state = CASE canary_state WHEN 'due' THEN 'running' ELSE canary_state END
WHERE id = $1`;

/**
 * Does the next batch of a run in one commit. An event is done once for one run, also when two
 * workers believe they lead. Skips events of sources without a worker (`isConfigured`).
 * @throws `invalid_request` for a verb or a filter of a later version
 */
export async function workBatch(
  ledger: LedgerContext,
  run: OpenBulkRun,
  { size, isConfigured }: { size: number; isConfigured: (source: string) => boolean },
): Promise<BulkBatch> {
  const work = async (client: pg.PoolClient): Promise<BulkBatch> => {
    const [row] = (await client.query<Locked>(LOCK, [run.id, run.cursor])).rows;
    if (row === undefined) return { kind: "superseded" };
    const canary = row.isCanaryDue === true ? row.canary : null;
    const wanted = Math.min(canary ?? size, row.left ?? Infinity);
    const list = canary === null ? listEvents : listCanary;
    const { keys, cursor, more } = await list(client, run, wanted);
    const { rows: added } = await client.query<EventKey>(ADD_MEMBERS, [...packKeys(keys), run.id]);
    failpoint("bulk_run.members_added");
    const members = await act(client, run, added, isConfigured);
    const ended = !more || added.length === row.left;
    const skipped = addSkips(row.skipped, members);
    const done = members.filter((member) => member.skipped === null);
    const values = [run.id, cursor, added.length, done.length, JSON.stringify(skipped), ended];
    await client.query(MOVE_ON, values);
    const events = done.flatMap(({ event }) => event ?? []);
    const givenUp = run.verb === "give_up" ? done.map(({ key }) => key) : [];
    return { kind: "done", events, givenUp, ended };
  };
  return await withPartitions(ledger.pool, () => transaction(ledger.pool, work, ledger.short));
}

interface Locked {
  readonly left: number | null;
  readonly skipped: Readonly<Record<string, number>>;
  readonly canary: number | null;
  readonly isCanaryDue: boolean | null;
}

interface Listed {
  readonly keys: readonly EventKey[];
  /** The end of the list, which the next batch begins with; null to begin where this one did. */
  readonly cursor: string | null;
  readonly more: boolean;
}

/** One event of each source and type in turn, their ages at random. */
async function listCanary(client: pg.PoolClient, run: OpenBulkRun, limit: number): Promise<Listed> {
  const { text, values } = queryOf(run, COUNT_MAX);
  const picked = `
    SELECT source, event_id AS "eventId", generation FROM (
      SELECT *, row_number() OVER (PARTITION BY source, type ORDER BY md5(event_id)) AS turn
      FROM (${text}) AS matching
    ) AS numbered
    ORDER BY turn, md5(event_id) LIMIT ${limit}`;
  const { rows: keys } = await client.query<EventKey>(picked, values);
  return { keys, cursor: null, more: keys.length > 0 };
}

function queryOf(run: OpenBulkRun, limit: number) {
  const filter = { ...run.filter, cursor: run.cursor ?? undefined };
  return listQuery({ ...filterOf(run.verb, filter), snapshotOfRun: run.id }, limit);
}

async function listEvents(client: pg.PoolClient, run: OpenBulkRun, limit: number): Promise<Listed> {
  const { rows } = await client.query<ListedRow>(queryOf(run, limit + 1));
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    keys: page.map(({ source, event_id: eventId, generation }) => {
      return { source, eventId, generation };
    }),
    cursor: last === undefined ? null : cursorOf(last),
    more: rows.length > limit,
  };
}

interface Member {
  readonly key: EventKey;
  readonly event?: EnvelopedEvent;
  readonly skipped: string | null;
}

async function act(
  client: pg.PoolClient,
  run: OpenBulkRun,
  keys: readonly EventKey[],
  isConfigured: (source: string) => boolean,
): Promise<readonly Member[]> {
  // A later build's run may be about something else.
  const actOnAll: Act | undefined = ACTS[run.verb];
  if (actOnAll === undefined) {
    throw new MillraceError("invalid_request", `Cannot ${run.verb} events: this build is too old`);
  }
  // Giving up needs no worker.
  const mayAct = ({ source }: EventKey) => run.verb === "give_up" || isConfigured(source);
  const strangers = keys.filter((key) => !mayAct(key));
  const known = keys.filter(mayAct);
  // Without a name: names belong to the pool.
  const send: Send = ({ text, values }) => client.query(text, values);
  const acted = known.length === 0 ? [] : await actOnAll({ send }, known);
  const members: Member[] = [
    ...known.map((key, index) => ({ key, skipped: "not_found", ...acted[index] })),
    ...strangers.map((key) => ({ key, skipped: "unknown_source" })),
  ];
  const noted = members.filter((member) => newGeneration(member) !== null || member.skipped);
  if (noted.length === 0) return members;
  const values = [noted.map(newGeneration), noted.map(({ skipped }) => skipped)];
  await client.query(NOTE_MEMBERS, [...packKeys(noted.map(({ key }) => key)), run.id, ...values]);
  return members;
}

function newGeneration({ key, event }: Member): number | null {
  return event === undefined || event.generation === key.generation ? null : event.generation;
}

/** Returns one answer for each key, in order. */
type Act = (
  context: Pick<LedgerContext, "send">,
  keys: readonly EventKey[],
) => Promise<readonly Omit<Member, "key">[]>;

const ACTS: Readonly<Record<OpenBulkRun["verb"], Act>> = {
  retry: async (context, keys) =>
    (await retryMany(context, keys, { endsDelay: true })).map((answer) => {
      if (answer.kind === "retried") return { event: answer.event, skipped: null };
      const isMissing = answer.kind === "not_found" || answer.kind === "body_missing";
      return { skipped: isMissing ? answer.kind : "not_failed" };
    }),
  replay: async (context, keys) =>
    (await replay(context, keys)).map((answer) =>
      answer.kind === "replayed"
        ? { event: answer.event, skipped: null }
        : { skipped: answer.kind },
    ),
  give_up: async (context, keys) =>
    (await giveUpMany(context, keys)).map((answer) => ({
      skipped: answer === "given_up" ? null : answer,
    })),
};

function addSkips(
  before: Readonly<Record<string, number>>,
  members: readonly Member[],
): Record<string, number> {
  const counts = { ...before };
  for (const { skipped } of members) {
    if (skipped !== null) counts[skipped] = (counts[skipped] ?? 0) + 1;
  }
  return counts;
}
