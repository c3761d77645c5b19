import type {
  ErrorDetail,
  ErrorGroup,
  ErrorGroupPage,
  ErrorState,
  ReadQueryOf,
} from "@millrace/api-contract";
import { areStorable, isStorable, MillraceError } from "@millrace/core";
import { cutGiven } from "../connection/cut-text.ts";
import { queryRows, queryWireRows, type LedgerContext } from "../connection/ledger-context.ts";

type Query = ReadQueryOf<"get /errors">;
export type ErrorFilter = Partial<Query> & Pick<Query, "limit">;

/** File and line of the user's code that threw an error, by an attempt of an event `a`. */
export const LINE_OF = (fingerprint: string, ofEvent: string): string => `
  (SELECT frame ->> 'file' || coalesce(':' || (frame ->> 'line'), '')
    FROM millrace.attempts a, jsonb_array_elements(a.stack) WITH ORDINALITY AS f (frame, n)
    WHERE ${ofEvent} AND a.fingerprint = ${fingerprint} AND (frame ->> 'own')::boolean
    ORDER BY a.attempt DESC, n LIMIT 1)`;

// $1 fingerprint, $2 state, $3 source, $4 type, $5 part of the title, $6 limit, $7 offset. Counts
// events for the groups of the page alone, by the index that leaves out those without an error.
const findErrorsBy = (sort: Query["sort"]) => `
WITH seen AS (
  SELECT fingerprint, source, type, sum(attempts)::float8 AS attempts,
    min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at,
    (array_agg(event_id ORDER BY last_seen_at DESC))[1] AS event_id,
    (array_agg(generation ORDER BY last_seen_at DESC))[1] AS generation
  FROM millrace.error_counts
  WHERE ($1::text IS NULL OR fingerprint = $1) AND ($3::text IS NULL OR source = $3)
    AND ($4::text IS NULL OR type = $4)
  GROUP BY fingerprint, source, type
),
groups AS (
  SELECT fingerprint, sum(attempts)::float8 AS attempts,
    min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at,
    jsonb_agg(jsonb_build_object('source', source, 'type', type, 'attempts', attempts)
      ORDER BY attempts DESC, source, type) AS sources,
    (array_agg(jsonb_build_object('source', source, 'event_id', event_id, 'generation', generation)
      ORDER BY last_seen_at DESC))[1] AS sample
  FROM seen GROUP BY fingerprint
),
page AS (
  SELECT e.*, g.attempts, g.first_seen_at, g.last_seen_at, g.sources, g.sample, (count(*) OVER ())::int AS total
  FROM groups g JOIN millrace.errors e USING (fingerprint)
  WHERE ($2::text IS NULL OR e.state = $2)
    AND ($5::text IS NULL OR position(lower($5) IN lower(e.title)) > 0)
  ORDER BY ${SORTED_BY[sort]} DESC, fingerprint
  LIMIT $6 OFFSET $7
)
SELECT page.*, undone.failed, undone.pending,
  ${LINE_OF("page.fingerprint", "a.source = page.sample ->> 'source' AND a.event_id = page.sample ->> 'event_id' AND a.generation = (page.sample ->> 'generation')::int")} AS line
FROM page CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE status = 'failed')::int AS failed,
    count(*) FILTER (WHERE status = 'pending')::int AS pending
  FROM millrace.events
  WHERE fingerprint = page.fingerprint AND status IN ('failed', 'pending')
    AND ($3::text IS NULL OR source = $3) AND ($4::text IS NULL OR type = $4)
) undone
ORDER BY ${SORTED_BY[sort]} DESC, fingerprint`;

const SORTED_BY = { count: "attempts", first: "first_seen_at", last: "last_seen_at" } as const;

/** $1 fingerprint. A range of the index for each hour and status. */
const COUNT_HOURS = `
SELECT at, count(fingerprint)::int AS events
FROM generate_series(date_bin('1 hour', now(), 'epoch') - interval '23 hours', now(), '1 hour') AS at
LEFT JOIN millrace.events ON fingerprint = $1 AND status IN ('failed', 'pending', 'completed')
  AND recorded_at >= at AND recorded_at < at + interval '1 hour'
GROUP BY at ORDER BY at`;

// $1 source. Of each error the 2,000 newest events that failed, and that wait after a failure.
const FIND_WORST = `
SELECT e.title, n.events
FROM (
  SELECT fingerprint FROM millrace.error_counts
  WHERE source = $1 AND last_seen_at >= now() - interval '10 minutes'
  GROUP BY fingerprint ORDER BY max(last_seen_at) DESC LIMIT 50
) AS seen JOIN millrace.errors e USING (fingerprint) CROSS JOIN LATERAL (
  SELECT count(*)::int AS events FROM unnest(ARRAY['failed', 'pending']) AS wanted, LATERAL (
    SELECT source, coalesce(processed_at, pending_since) AS at FROM millrace.events
    WHERE fingerprint = seen.fingerprint AND status = wanted ORDER BY recorded_at DESC LIMIT 2000
  ) AS newest WHERE source = $1 AND at >= now() - interval '10 minutes'
) AS n WHERE n.events > 0
ORDER BY n.events DESC, e.title LIMIT 3`;

/** Another state ends the earlier one: a reopened error has not come back by itself. */
const SET_STATE = `
UPDATE millrace.errors
SET state = $2, note = $3, state_by = $4, state_at = clock_timestamp(),
  reopened_at = CASE WHEN state = $2 THEN reopened_at END,
  owner = CASE WHEN $2 = 'open' THEN owner END
WHERE fingerprint = $1`;

const SET_OWNER = "UPDATE millrace.errors SET owner = $2 WHERE fingerprint = $1 AND state = 'open'";

export async function findErrors(
  ledger: LedgerContext,
  { state, source, type, q, sort, limit, offset = 0 }: ErrorFilter,
): Promise<ErrorGroupPage> {
  if (!areStorable([source, type, q])) return { errors: [], total: 0 };
  const rows = await select(ledger, [null, state, source, type, q, limit, offset], sort);
  return { errors: rows.map(({ total: _, ...group }) => group), total: rows[0]?.total ?? 0 };
}

/** The errors of a source that failed the most events in the last ten minutes. */
export const findWorstErrors = (ledger: LedgerContext, source: string) =>
  queryRows<{ readonly title: string; readonly events: number }>(ledger, FIND_WORST, [source]);

/** @throws `error_not_found` when no group matches, `invalid_request` when several do */
export async function getError(ledger: LedgerContext, prefix: string): Promise<ErrorGroup> {
  const fingerprint = await findFingerprint(ledger, prefix);
  const [row] = await select(ledger, [fingerprint, null, null, null, null, 1, 0]);
  if (row === undefined) throw notFound(prefix);
  const { total: _, ...group } = row;
  return group;
}

/** Events of the last 24 hours whose last error this is, by the hour of their record. */
export async function countErrorHours(
  ledger: LedgerContext,
  fingerprint: string,
): Promise<ErrorDetail["hours"]> {
  return await queryWireRows<ErrorDetail["hours"][number]>(ledger, COUNT_HOURS, [fingerprint]);
}

/** @throws `error_not_found` */
export async function setErrorState(
  ledger: LedgerContext,
  fingerprint: string,
  { state, note, by }: { state: ErrorState; note?: string | undefined; by: string | null },
): Promise<void> {
  if (!isStorable(fingerprint)) throw notFound(fingerprint);
  const values = [fingerprint, state, cutGiven(note), cutGiven(by, 1_024)];
  const { rowCount } = await ledger.send({ text: SET_STATE, values });
  if (rowCount !== 1) throw notFound(fingerprint);
}

/** False for an error that is not open: nobody needs to be on it. */
export async function setErrorOwner(
  ledger: LedgerContext,
  fingerprint: string,
  owner: string | null,
): Promise<boolean> {
  const values = [fingerprint, cutGiven(owner, 1_024)];
  return (await ledger.send({ text: SET_OWNER, values })).rowCount === 1;
}

/** @throws `error_not_found` when no group matches, `invalid_request` when several do */
export async function findFingerprint(ledger: LedgerContext, prefix: string): Promise<string> {
  if (!isStorable(prefix)) throw notFound(prefix);
  const text = `SELECT fingerprint FROM millrace.errors WHERE starts_with(fingerprint, $1)
    ORDER BY fingerprint <> $1 LIMIT 2`;
  const [first, second] = await queryRows<{ fingerprint: string }>(ledger, text, [prefix]);
  if (first === undefined) throw notFound(prefix);
  if (second === undefined || first.fingerprint === prefix) return first.fingerprint;
  throw new MillraceError(
    "invalid_request",
    `Cannot choose an error: ${first.fingerprint} and ${second.fingerprint} begin with "${prefix}"`,
  );
}

function notFound(fingerprint: string): MillraceError {
  return new MillraceError(
    "error_not_found",
    `Cannot find error ${JSON.stringify(fingerprint)}: the ledger has none whose fingerprint begins with this`,
  );
}

const select = (ledger: LedgerContext, values: unknown[], sort: Query["sort"] = "last") =>
  queryWireRows<ErrorGroup & { readonly total: number }>(ledger, findErrorsBy(sort), values);
