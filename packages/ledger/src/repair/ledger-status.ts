import type { EnvelopedEvent, ErrorCode, EventKey, EventStatus } from "@millrace/core";
import { isStorableKey, keyText, packKeys } from "../claims/event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

/** A row `e` of events as its job's `EnvelopedEvent`, in JSON, without body and headers. */
export const eventColumn = (e: string, generation = `${e}.generation`) => `
  json_strip_nulls(json_build_object(
    'source', ${e}.source, 'eventId', ${e}.event_id, 'generation', ${generation}, 'type', ${e}.type,
    'acceptedAtMs', floor(extract(epoch FROM ${e}.received_at) * 1000), 'bodyHash', ${e}.body_hash,
    'headers', '{}'::json, 'unsigned', ${e}.unsigned,
    'digest', CASE ${generation} WHEN 0 THEN ${e}.digest END
  )) AS event`;

export interface LedgerStatus {
  readonly event: EnvelopedEvent;
  readonly status: EventStatus;
  /** Of its last failed attempt; null when none has failed. */
  readonly errorCode: ErrorCode | null;
  /** By the database's clock: when it last became pending, and how long ago that is. */
  readonly pendingSinceMs: number;
  readonly pendingForMs: number;
  /** True when a job of it has been noted since then. */
  readonly enqueued: boolean;
  /** Milliseconds until its next attempt is due; 0 when it is. */
  readonly dueInMs: number;
  /** Where it stands among the pending events of its source; for `pendingPage`. */
  readonly cursor: string;
}

const LEDGER_STATUS_COLUMNS = `${eventColumn("e")},
  e.status, e.last_error_code AS "errorCode", e.enqueued_at IS NOT NULL AS enqueued,
  floor(extract(epoch FROM e.pending_since) * 1000)::float8 AS "pendingSinceMs",
  extract(epoch FROM now() - e.pending_since)::float8 * 1000 AS "pendingForMs",
  greatest(0, coalesce(extract(epoch FROM e.next_attempt_at - now())::float8 * 1000, 0)) AS "dueInMs",
  e.pending_since::text AS cursor`;

/** Looked up one at a time (LIMIT 1): a join may be answered from a hash of the whole table. */
const LEDGER_STATUSES = `
SELECT ${LEDGER_STATUS_COLUMNS}
FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
CROSS JOIN LATERAL (
  SELECT * FROM millrace.events l
  WHERE l.source = w.source AND l.event_id = w.event_id AND l.generation = w.generation
  LIMIT 1
) e`;

export async function ledgerStatuses(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<readonly (LedgerStatus | undefined)[]> {
  const query = {
    name: "millrace_standings",
    text: LEDGER_STATUSES,
    values: packKeys(keys.filter(isStorableKey)),
  };
  const { rows } = await ledger.send<LedgerStatus>(query);
  const found = new Map(rows.map((row) => [keyText(row.event), row]));
  return keys.map((key) => found.get(keyText(key)));
}

const NOT_COMPLETED = `
SELECT w.position::int AS position
FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS w (source, event_id, generation, position)
WHERE (
  SELECT status = 'completed' FROM millrace.events l
  WHERE l.source = w.source AND l.event_id = w.event_id AND l.generation = w.generation
  LIMIT 1
) IS NOT TRUE`;

export async function areNotCompleted(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<readonly boolean[]> {
  const query = { name: "millrace_not_completed", text: NOT_COMPLETED, values: packKeys(keys) };
  const { rows } = await runStatement<{ position: number }>(ledger.pool, query, ledger.prepared);
  const positions = new Set(rows.map(({ position }) => position));
  return keys.map((_, index) => positions.has(index + 1));
}

interface PendingQuery {
  readonly which: "every" | "not_enqueued";
  readonly graceMs: number;
}

/** Of each source ($1) at most $5 after its cursor ($2 to $4). The condition decides the index. */
const PENDING_PAGE = (condition: string) => `
SELECT ${LEDGER_STATUS_COLUMNS}
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::int[], $5::int[])
  AS s (source, pending_since, event_id, generation, page)
CROSS JOIN LATERAL (
  SELECT * FROM millrace.events p
  WHERE p.source = s.source AND p.status = 'pending' ${condition}
    AND p.pending_since < now() - make_interval(secs => $6::float8 / 1000)
    AND (p.pending_since, p.event_id, p.generation) > (s.pending_since, s.event_id, s.generation)
  ORDER BY p.pending_since, p.event_id, p.generation
  LIMIT s.page
) e`;

const PAGES = {
  every: { name: "millrace_pending_page_every", text: PENDING_PAGE("") },
  not_enqueued: {
    name: "millrace_pending_page_not_enqueued",
    text: PENDING_PAGE("AND p.enqueued_at IS NULL"),
  },
};

export async function pendingPage(
  ledger: LedgerContext,
  cursors: readonly { source: string; after?: LedgerStatus | undefined; limit: number }[],
  { which, graceMs }: PendingQuery,
): Promise<readonly LedgerStatus[]> {
  const query = {
    ...PAGES[which],
    values: [
      cursors.map(({ source }) => source),
      cursors.map(({ after }) => after?.cursor ?? "-infinity"),
      cursors.map(({ after }) => after?.event.eventId ?? ""),
      cursors.map(({ after }) => after?.event.generation ?? -1),
      cursors.map(({ limit }) => limit),
      graceMs,
    ],
  };
  return (await ledger.send<LedgerStatus>(query)).rows;
}

// Skips a row that another transaction holds: a worker has its job, and notes that too. Looks rows
// up one at a time (LIMIT 1): a join may read all of the partial index of unmarked rows for each
// key, which costs twenty times as much for a backlog of ten thousand events.
const setEnqueued = (from: "IS NULL" | "IS NOT NULL", to: "now()" | "NULL") => `
WITH wanted AS MATERIALIZED (
  SELECT w.source, w.event_id, w.generation
  FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
  WHERE (
    SELECT e.status = 'pending' AND e.enqueued_at ${from} FROM millrace.events e
    WHERE e.source = w.source AND e.event_id = w.event_id AND e.generation = w.generation
    LIMIT 1
  )
  ORDER BY w.source, w.event_id, w.generation
),
locked AS MATERIALIZED (
  SELECT e.*
  FROM wanted w
  CROSS JOIN LATERAL (
    SELECT source, event_id, generation, status, enqueued_at FROM millrace.events e
    WHERE e.source = w.source AND e.event_id = w.event_id AND e.generation = w.generation
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  ) AS e
  WHERE e.status = 'pending' AND e.enqueued_at ${from}
)
UPDATE millrace.events e SET enqueued_at = ${to}
FROM locked l
WHERE e.source = l.source AND e.event_id = l.event_id AND e.generation = l.generation`;

const run =
  (name: string, text: string) =>
  async ({ pool, prepared }: LedgerContext, keys: readonly EventKey[]): Promise<void> => {
    if (keys.length > 0) await runStatement(pool, { name, text, values: packKeys(keys) }, prepared);
  };

/** Call it after enqueueing. Until then the reconciler may enqueue it too, without harm. */
export const markEnqueued = run("millrace_mark_enqueued", setEnqueued("IS NULL", "now()"));

/** Notes that pending events no longer have a job, so that the reconciler enqueues them. */
export const unmarkEnqueued = run("millrace_unmark_enqueued", setEnqueued("IS NOT NULL", "NULL"));
