import type { BulkRun } from "@millrace/api-contract";
import { areStorable, MillraceError } from "@millrace/core";
import { cutGiven, cutText, toJson } from "../connection/cut-text.ts";
import type { Actor, ListSearch } from "./audit.ts";
import type { EventFilter } from "../reads/find-events.ts";
import { queryRows, queryWireRows, type LedgerContext } from "../connection/ledger-context.ts";
import { statement } from "../connection/statement.ts";

export type BulkFilter = Omit<EventFilter, "limit" | "cursor">;

export interface NewBulkRun extends Pick<BulkRun, "verb" | "rate"> {
  readonly filter: BulkFilter;
  readonly limit?: number | undefined;
  /** Events that match; undefined when they are too many to count. */
  readonly total: number | undefined;
  readonly canary?: number | undefined;
  readonly failedShareMax?: number | undefined;
  readonly actor: Actor;
  readonly auditId: string;
}

export interface OpenBulkRun extends Pick<BulkRun, "id" | "verb" | "rate" | "error" | "total"> {
  readonly filter: BulkFilter;
  readonly state: "running" | "paused";
  readonly cursor: string | null;
  readonly isTaken: boolean;
  readonly canaryState: BulkRun["canary_state"];
  readonly failedShareMax: number | null;
}

export interface BulkRunChange {
  readonly state?: "running" | "paused" | "stopped" | undefined;
  readonly rate?: number | undefined;
}

const START = statement(`
INSERT INTO millrace.bulk_runs
  (verb, filter, events_max, rate, total, started_by, role, via, reason, audit_id, canary,
    canary_state, failed_share_max)
VALUES (
  :verb, :filter, :eventsMax, :rate, :total, :startedBy, :role, :via, :reason, :auditId, :canary,
  CASE WHEN :canary::int IS NOT NULL THEN 'due' END, :failedShareMax
)
RETURNING id::float8 AS id`);

/** A completed event that is missing was deleted by the retention; no other is ever deleted. */
const COUNT_RESULTS = `
  SELECT jsonb_build_object(
    'completed', count(*) FILTER (WHERE coalesce(e.status, 'completed') = 'completed'),
    'failed', count(*) FILTER (WHERE e.status = 'failed'),
    'pending', count(*) FILTER (WHERE e.status = 'pending'),
    'errors', count(DISTINCT coalesce(e.fingerprint, e.last_error_code)) FILTER (WHERE e.status = 'failed')
  ) AS counted
  FROM millrace.bulk_members m
  LEFT JOIN millrace.events e ON e.source = m.source AND e.event_id = m.event_id
    AND e.generation = coalesce(m.new_generation, m.generation)`;

const FIND = `
SELECT r.id::float8 AS id, r.verb, r.filter, r.snapshot_at, r.events_max AS "limit", r.rate, r.state, r.total,
  r.listed, r.done, r.skipped, r.error, r.started_by, r.role, r.via, r.reason, r.created_at, r.taken_at,
  r.finished_at, r.canary, r.canary_state, r.failed_share_max, coalesce(r.results, c.counted) AS results
FROM (
  SELECT * FROM millrace.bulk_runs
  WHERE ($1::bigint IS NULL OR id = $1)
    AND ($3::text IS NULL OR verb = $3) AND ($4::text IS NULL OR state = $4)
    AND ($5::text IS NULL OR started_by = $5)
    AND ($6::timestamptz IS NULL OR created_at >= $6)
    AND ($7::timestamptz IS NULL OR created_at < $7)
    AND NOT EXISTS (
      SELECT FROM unnest($8::text[]) AS word
      WHERE position(lower(word) IN lower(concat_ws(' ', verb, state, started_by, reason, error, filter))) = 0
    )
  ORDER BY id DESC LIMIT $2
) AS r
CROSS JOIN LATERAL (
  ${COUNT_RESULTS}
  WHERE r.results IS NULL AND m.run_id = r.id AND m.skipped IS NULL
) AS c
ORDER BY r.id DESC`;

/** A run that was stopped goes on with the rest, without the limits that stopped it. */
const CHANGE = `
UPDATE millrace.bulk_runs
SET state = coalesce($2, state), rate = coalesce($3, rate), results = NULL, error = NULL,
  canary_state = CASE state WHEN 'stopped' THEN replace(canary_state, 'running', 'passed') ELSE canary_state END,
  failed_share_max = CASE WHEN state <> 'stopped' THEN failed_share_max END,
  finished_at = CASE WHEN $2 = 'stopped' THEN clock_timestamp() END
WHERE id = $1 AND (finished_at IS NULL OR (state = 'stopped' AND $2 = 'running'))`;

const OPEN = `
SELECT id::float8 AS id, verb, filter, state, rate, cursor, error, total, taken_at IS NOT NULL AS "isTaken",
  canary_state AS "canaryState", failed_share_max AS "failedShareMax"
FROM millrace.bulk_runs WHERE finished_at IS NULL ORDER BY id`;

const NOTE_ERROR = `
UPDATE millrace.bulk_runs SET error = $2 WHERE id = $1 AND finished_at IS NULL`;

const FAIL = `
UPDATE millrace.bulk_runs SET state = 'failed', error = $2, finished_at = clock_timestamp()
WHERE id = $1 AND finished_at IS NULL`;

const KEEP_RESULTS = `
UPDATE millrace.bulk_runs r SET results = c.counted
FROM millrace.bulk_runs ended CROSS JOIN LATERAL (
  ${COUNT_RESULTS}
  WHERE m.run_id = ended.id AND m.skipped IS NULL
) AS c
WHERE r.id = ended.id AND ended.finished_at IS NOT NULL AND ended.results IS NULL
  AND c.counted @> '{"pending": 0}'`;

/** Writes down a run, which the leading worker takes from then on. */
export async function startRun(ledger: LedgerContext, run: NewBulkRun): Promise<BulkRun> {
  const { limit, canary, failedShareMax, actor } = run;
  const query = START({
    ...run,
    ...actor,
    filter: toJson(run.filter),
    eventsMax: limit,
    canary,
    failedShareMax,
    startedBy: cutGiven(actor.user, 1_024),
    reason: cutGiven(actor.reason),
  });
  const { rows } = await ledger.send<{ id: number }>(query);
  return await getRun(ledger, rows[0]?.id ?? 0);
}

interface RunSearch extends ListSearch {
  readonly limit: number;
  readonly verb?: string | undefined;
  readonly state?: string | undefined;
  readonly startedBy?: string | undefined;
}

export async function findRuns(ledger: LedgerContext, search: RunSearch): Promise<BulkRun[]> {
  const { verb, state, startedBy, words = [] } = search;
  return areStorable([verb, state, startedBy, ...words]) ? await find(ledger, search) : [];
}

async function find(
  ledger: LedgerContext,
  { id, limit, verb, state, startedBy, since, until, words }: RunSearch & { readonly id?: number },
): Promise<BulkRun[]> {
  const values = [id, limit, verb, state, startedBy, since, until, words];
  return (await queryWireRows<Row>(ledger, FIND, values)).map(toRun);
}

/** @throws `run_not_found` */
export async function getRun(ledger: LedgerContext, id: number): Promise<BulkRun> {
  if (!Number.isSafeInteger(id)) throw notFound();
  const [run] = await find(ledger, { id, limit: 1 });
  if (run === undefined) throw notFound();
  return run;
}

/** The worker sees a change before its next batch. @throws `run_not_found`, `run_ended` */
export async function changeRun(
  ledger: LedgerContext,
  id: number,
  { state, rate }: BulkRunChange,
): Promise<BulkRun> {
  const { state: found } = await getRun(ledger, id);
  const values = [id, state ?? null, rate ?? null];
  const { rowCount } = await ledger.send({ text: CHANGE, values });
  if (rowCount === 1) return await getRun(ledger, id);
  const now = isEnded(found) ? found : (await getRun(ledger, id)).state;
  throw new MillraceError("run_ended", `Cannot change run ${id}: it is ${now}`);
}

const isEnded = (state: BulkRun["state"]) => state !== "running" && state !== "paused";

export async function openRuns(ledger: LedgerContext): Promise<OpenBulkRun[]> {
  const { rows } = await ledger.send<OpenBulkRun>({ text: OPEN });
  return rows.map((row) => {
    const { since, until } = row.filter;
    // JSON has no dates.
    const dates = { since: since && new Date(since), until: until && new Date(until) };
    return { ...row, filter: { ...row.filter, ...dates } };
  });
}

export async function noteRunError(
  ledger: LedgerContext,
  id: number,
  { message, ended }: { message: string; ended: boolean },
): Promise<void> {
  await ledger.send({ text: ended ? FAIL : NOTE_ERROR, values: [id, cutText(message)] });
}

export async function keepRunResults(ledger: LedgerContext): Promise<void> {
  await queryRows(ledger, KEEP_RESULTS);
}

const notFound = () => new MillraceError("run_not_found", "Cannot find the bulk run: no such id");

interface Row extends Omit<BulkRun, "results" | "errors" | "estimate_seconds"> {
  readonly results: BulkRun["results"] & { readonly errors: number };
}

function toRun({ results: { errors, ...results }, ...row }: Row): BulkRun {
  const { total, listed, rate, state, error, canary_state: canary } = row;
  const isHeld = state !== "running" || error !== null || (canary ?? "passed") !== "passed";
  const estimate_seconds = total === null || isHeld ? null : Math.max(0, total - listed) / rate;
  // Its events failed because a person gave them up: none of them ran again.
  if (row.verb === "give_up") return { ...row, ...NONE_RAN, estimate_seconds };
  return { ...row, results, errors, estimate_seconds };
}

const NONE_RAN = { results: { completed: 0, failed: 0, pending: 0 }, errors: 0 };
