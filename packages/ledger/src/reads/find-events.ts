import { eventRow, type EventPage, type EventRow, type ReadQueryOf } from "@millrace/api-contract";
import {
  EDITED_MARK,
  areStorable,
  jsonOf,
  MillraceError,
  tenantEventId,
  type EventKey,
  type EventStatus,
} from "@millrace/core";
import { queryRows, toWire, type LedgerContext } from "../connection/ledger-context.ts";

/** As the API takes it: `since` and `until` are by the database's clock. */
export interface EventFilter extends Partial<ReadQueryOf<"get /events">> {
  /** Values of a source's `find` that it has: `customer: cus_1`. */
  readonly values?: readonly string[] | undefined;
  /** Fingerprints of errors, of which one is its last. */
  readonly errors?: readonly string[] | undefined;
  readonly searchWords?: readonly SearchWord[] | undefined;
  /** Recorded before this bulk run was started, and of the same status since then. */
  readonly snapshotOfRun?: number | undefined;
  /** Events that had an attempt, and wait for the time of the next one. */
  readonly isDelayed?: boolean | undefined;
}

/** Without events that a handler emitted for later: they have had no attempt. */
export const IS_DELAYED =
  "status = 'pending' AND attempts > 0 AND next_attempt_at > clock_timestamp()";

/** The beginning of an id, or one of `values`; with `isPart` any part of an id, by no index. */
export interface SearchWord {
  readonly text: string;
  readonly values: readonly string[];
  readonly isPart: boolean;
}

export type FoundPage = Omit<EventPage, "queued">;

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
/** Events that one statement of a filter without an index reads, twice: some 50 milliseconds. */
const scannedMax = ({ values }: EventFilter): number => (values === undefined ? 20_000 : 5_000);

const READ_ON_MS = 1_000;

/**
 * Reads on where a filter without an index finds nothing. A page with a `next` may have no event.
 * @throws `invalid_request` for limit or cursor
 */
export async function findEvents(ledger: LedgerContext, filter: EventFilter): Promise<FoundPage> {
  const limit = limitOf(filter);
  if (!canMatch(filter)) return { events: [], next: null, searched_to: null };
  const untilMs = performance.now() + READ_ON_MS;
  let { cursor } = filter;
  for (;;) {
    const asked = { ...filter, cursor };
    const scanned = scannedOf(asked);
    const { text, values } = listQuery(asked, limit + 1, scanned);
    const rows = await queryRows<ListedRow>(ledger, text, values);
    const isFull = rows.length > limit;
    const page = rows.slice(0, limit);
    const events = page.map(({ recorded_at_text: _text, ...event }) => toWire(event));
    const last = isFull ? page.at(-1) : scanned && (await lastScanned(ledger, scanned));
    if (last === undefined) return { events, next: null, searched_to: null };
    cursor = cursorOf(last);
    if (events.length > 0 || performance.now() > untilMs) {
      return { events, next: cursor, searched_to: isFull ? null : toWire(last).recorded_at };
    }
  }
}

/** @throws `invalid_request` */
export function limitOf({ limit = LIMIT_DEFAULT }: EventFilter): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new MillraceError("invalid_request", `Cannot list ${limit} events: 1 to ${LIMIT_MAX}`);
}

/** The part of a filter that an index answers; undefined where that is all of it, or narrow. */
export function scannedOf(filter: EventFilter): EventFilter | undefined {
  const { source, type, outcome, searchWords = [], ...others } = filter;
  const { q, tenant, run, error, errors, status } = others;
  const isNarrow = [q, tenant, run, error, errors].some((value) => value !== undefined);
  if (isNarrow || status === "pending") return undefined;
  const isFailed = status === "failed";
  const named = searchWords.filter(({ isPart }) => !isPart);
  const unindexed = [source, type, outcome, isFailed ? undefined : status];
  const isIndexed = unindexed.every((value) => value === undefined);
  if (isIndexed && named.length === searchWords.length) return undefined;
  return { ...others, searchWords: named, status: isFailed ? status : undefined };
}

async function lastScanned(
  ledger: LedgerContext,
  filter: EventFilter,
): Promise<ListedRow | undefined> {
  const { text, values } = listQuery(filter, 1);
  const offset = scannedMax(filter) - 1;
  return (await queryRows<ListedRow>(ledger, `${text} OFFSET ${offset}`, values))[0];
}

export async function countEvents(
  ledger: LedgerContext,
  filter: EventFilter,
  countMax: number,
): Promise<CountedEvents> {
  if (!canMatch(filter)) return { groups: [], isPartial: false };
  const values: unknown[] = [];
  const asked = { ...filter, cursor: undefined };
  const scanned = asked.searchWords === undefined ? undefined : scannedOf(asked);
  const from = windowOf(scanned, values);
  const where = conditionsOf(asked, values);
  const text = `
SELECT source, status, count(*)::int AS count
FROM (SELECT source, status FROM ${from} e WHERE ${where} LIMIT ${countMax + 1}) AS found
GROUP BY source, status`;
  const groups = await queryRows<EventCounts>(ledger, text, values);
  return {
    groups,
    isPartial: scanned !== undefined && (await lastScanned(ledger, scanned)) !== undefined,
  };
}

/** False for what Postgres cannot even compare with. */
const canMatch = ({ source, type, error, q }: EventFilter): boolean =>
  areStorable([source, type, error, q]);

type EventCounts = Pick<EventRow, "source" | "status"> & { readonly count: number };

export interface CountedEvents {
  readonly groups: readonly EventCounts[];
  /** Only the first events of a filter without an index were counted. */
  readonly isPartial: boolean;
}

export type ListedRow = EventRow & { readonly recorded_at_text: string };

/** With Postgres' own text of the time, since a Date has no microseconds. */
export function cursorOf({ recorded_at_text, source, event_id, generation }: ListedRow): string {
  const parts = [recorded_at_text, source, event_id, generation];
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** @param scanned - a wider filter, of whose events only the first are looked at. */
export function listQuery(
  filter: EventFilter,
  limit: number,
  scanned?: EventFilter,
): { readonly text: string; readonly values: unknown[] } {
  const values: unknown[] = [];
  const from = windowOf(scanned, values);
  const text = `
SELECT ${LISTED_COLUMNS}
FROM ${from} e WHERE ${conditionsOf(filter, values)} ${orderOf(filter)} LIMIT ${limit}`;
  return { text, values };
}

/** Columns named as in the contract. One that no migration has made fails every read. */
export const columnsOf = ({ shape }: { readonly shape: object }, table: string): string =>
  Object.keys(shape)
    .map((name) => (name === "edited" ? isEdited(table) : `${table}.${name}`))
    .join(", ");

const isEdited = (e: string) =>
  `coalesce(${e}.parent_source = ${e}.source AND starts_with(${e}.event_id, ${e}.parent_event_id || '${EDITED_MARK}'), false) AS edited`;

export const EVENT_COLUMNS = columnsOf(eventRow, "e");
export const LISTED_COLUMNS = `${EVENT_COLUMNS}, (recorded_at AT TIME ZONE 'UTC')::text AS recorded_at_text`;

/** The first events of a filter; all of the ledger without one. */
export function windowOf(
  filter: EventFilter | undefined,
  values: unknown[],
  size = scannedMax(filter ?? {}),
): string {
  if (filter === undefined) return "millrace.events";
  const where = conditionsOf(filter, values);
  return `(SELECT * FROM millrace.events WHERE ${where} ${orderOf(filter)} LIMIT ${size})`;
}

export function orderOf({ order }: EventFilter): string {
  const columns = ["recorded_at", "source", "event_id", "generation"];
  const way = order === "asc" ? "ASC" : "DESC";
  return `ORDER BY ${columns.map((column) => `${column} ${way}`).join(", ")}`;
}

export function conditionsOf(filter: EventFilter, values: unknown[]): string {
  const { source, type, status, outcome, error, q, since, until, cursor } = filter;
  const { tenant, run, snapshotOfRun, values: named, errors, searchWords = [], isDelayed } = filter;
  const given = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    source !== undefined && `source = ${given(source)}`,
    type !== undefined && isOfType(type, given),
    // The status stands in the text, so that the planner may take its partial index.
    status !== undefined && `status = ${STATUS_LITERALS[status]}`,
    outcome !== undefined && `outcome = ${given(outcome)}`,
    error !== undefined && `fingerprint = ${given(error)}`,
    errors !== undefined && `fingerprint = ANY (${given(errors)}::text[])`,
    named !== undefined && hasValues("@>", given(named)),
    q !== undefined && q !== "" && beginsWith(given(q), source),
    tenant !== undefined && beginsWith(given(tenantEventId(tenant, "")), source),
    ...searchWords.map((word) => isNamed(word, source, given)),
    since !== undefined && `recorded_at >= ${given(since)}`,
    until !== undefined && `recorded_at < ${given(until)}`,
    cursor !== undefined && after(cursor, filter.order, given),
    run !== undefined && ranIn(given(run)),
    snapshotOfRun !== undefined && inSnapshot(given(snapshotOfRun)),
    isDelayed === true && IS_DELAYED,
  ].filter((condition) => condition !== false);
  return conditions.join(" AND ") || "true";
}

const STATUS_LITERALS: Record<EventStatus, string> = {
  pending: "'pending'",
  completed: "'completed'",
  failed: "'failed'",
};

type Given = (value: unknown) => string;

function isOfType(type: string, given: Given): string {
  if (!type.endsWith("*")) return `type = ${given(type)}`;
  return `starts_with(type, ${given(type.slice(0, -1))})`;
}

function isNamed({ text, values, isPart }: SearchWord, source: string | undefined, given: Given) {
  if (isPart) return `position(${given(text)} IN event_id) > 0`;
  const begins = beginsWith(given(text), source);
  return values.length === 0 ? begins : `(${hasValues("&&", given(values))} OR ${begins})`;
}

// Twice, because without statistics the planner takes a value for so frequent that it reads all
// events by their time: eight seconds at five million.
const hasValues = (operator: "@>" | "&&", values: string): string =>
  `find ${operator} ${values}::text[] AND find && ${values}::text[]`;

// A range over the primary key for each source.
function beginsWith(q: string, source: string | undefined): string {
  const range = `event_id >= ${q} AND event_id < ${q} || chr(1114111) AND starts_with(event_id, ${q})`;
  return source === undefined ? `${range} AND source = ANY (ARRAY(${SOURCES_WHERE()}))` : range;
}

/** The sources of events, by jumping in an index from one to the next. */
export const SOURCES_WHERE = (condition = "true"): string => `
  WITH RECURSIVE known (source) AS (
    SELECT min(source) FROM millrace.events WHERE ${condition}
    UNION ALL
    SELECT (
      SELECT min(e.source) FROM millrace.events e WHERE ${condition} AND e.source > known.source
    )
    FROM known WHERE known.source IS NOT NULL
  )
  SELECT source FROM known WHERE source IS NOT NULL`;

function after(text: string, order: EventFilter["order"], given: Given): string {
  const { recordedAt, source, eventId, generation } = readCursor(text);
  const at = `${given(`${recordedAt}+00`)}::timestamptz`;
  const behind = [at, given(source), given(eventId), `${given(generation)}::int`];
  return `(recorded_at, source, event_id, generation) ${order === "asc" ? ">" : "<"} (${behind.join(", ")})`;
}

/** @throws `invalid_request` */
function readCursor(text: string): EventKey & { readonly recordedAt: string } {
  const parts = jsonOf(Buffer.from(text, "base64url").toString());
  if (Array.isArray(parts) && parts.length === 4) {
    const [recordedAt, source, eventId, generation] = parts as unknown[];
    if (
      typeof recordedAt === "string" &&
      /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/.test(recordedAt) &&
      typeof source === "string" &&
      typeof eventId === "string" &&
      !`${source}${eventId}`.includes("\0") &&
      Number.isSafeInteger(generation) &&
      Math.abs(Number(generation)) < 2 ** 31
    ) {
      return { recordedAt, source, eventId, generation: Number(generation) };
    }
  }
  throw new MillraceError("invalid_request", "Cannot continue from the cursor: it is not valid");
}

const ranIn = (run: string): string =>
  `(source, event_id, generation) IN (
    SELECT m.source, m.event_id, coalesce(m.new_generation, m.generation)
    FROM millrace.bulk_members m WHERE m.run_id = ${run}::bigint AND m.skipped IS NULL
  )`;

// The moment stays in the database: a Date would cut its microseconds. An event that was retried
// or ran after it is left out, so that giving up never undoes a later retry.
function inSnapshot(run: string): string {
  const moment = `(SELECT snapshot_at FROM millrace.bulk_runs WHERE id = ${run}::bigint)`;
  return `recorded_at <= ${moment} AND coalesce(processed_at, pending_since) <= ${moment}`;
}
