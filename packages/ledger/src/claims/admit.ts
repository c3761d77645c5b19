import { signedDigest, type EnvelopedEvent, type IncomingEvent } from "@millrace/core";
import type pg from "pg";
import {
  beginWith,
  handlerLimits,
  LIMIT_HANDLERS,
  PLAN_BY_KEY,
} from "../connection/transaction.ts";
import type { PooledConnection } from "../connection/connection.ts";
import { pipeline } from "../connection/pipeline.ts";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { dailyStatement, statement } from "../connection/statement.ts";
import { CAME_BEFORE, isRepeatable, MESSAGE_LOCK } from "./same-message.ts";

export interface Admitted {
  readonly kind: "admitted";
  readonly event: IncomingEvent;
  /** True when the ledger has its row already (`ack: "ledger"`). */
  readonly isWaiting: boolean;
}

const BUSY = { kind: "busy" } as const;
/** To be recorded: known otherwise, expired, without a body, or perhaps a replay. */
export const RECORD_FIRST = { kind: "record_first" } as const;

export type Admission = Admitted | typeof BUSY | typeof RECORD_FIRST;

export interface FirstLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

interface AdmitRow {
  readonly event_id: string;
  readonly kind: "fresh" | "waiting" | "busy" | "record_first";
  readonly transaction_id: string;
  readonly type: string | null;
  readonly unsigned: boolean | null;
  readonly received_at_ms: number | null;
  readonly headers: Record<string, string> | null;
  readonly body: Buffer | null;
}

/** By this lock the guard of the audit knows a handler's transaction. It waits for no row. */
const SHOW_HANDLER = "LOCK TABLE millrace.events IN ROW SHARE MODE";

/** Saves work and decides nothing: the primary key does. No transaction waits for this lock. */
export const IDENTITY_LOCK = (source: string, eventId: string) => `pg_try_advisory_xact_lock(
    hashtextextended(concat_ws(' ', 'millrace.event', ${source}, ${eventId}), 0)
  )`;

// Decides which first attempts can begin in this transaction. The body is looked up in one day's
// partition with LIMIT 1: a join may read all of it. An event whose message another transaction
// handles is busy: a record would store a second copy of a body that is about to be committed.
const ADMIT = dailyStatement(
  (day) => `
WITH limits AS MATERIALIZED (
  SELECT ${LIMIT_HANDLERS},
    set_config('millrace.first_attempts', pg_current_xact_id()::text, true)
),
given AS MATERIALIZED (
  SELECT i.*, ${IDENTITY_LOCK(":source::text", "i.event_id")} AS is_mine
  FROM limits CROSS JOIN
    unnest(:eventIds::text[], :bodyHashes::text[], :hasBody::bool[], :messages::text[], :receivedAtMs::float8[])
    AS i (event_id, body_hash, has_body, message, received_at_ms)
),
known AS MATERIALIZED (
  SELECT given.event_id, (
    SELECT true FROM millrace.events e
    WHERE e.source = :source AND e.event_id = given.event_id AND e.generation = 0
    LIMIT 1
  ) IS TRUE AS is_known
  FROM given WHERE is_mine
),
waiting AS MATERIALIZED (
  SELECT e.*
  FROM known JOIN given USING (event_id)
  CROSS JOIN LATERAL (
    SELECT event_id, type, unsigned, received_at, own_headers, body_day, body_id
    FROM millrace.events e
    WHERE source = :source AND event_id = given.event_id AND generation = 0
      AND ${IS_PENDING("e")} AND attempts = 0 AND body_hash = given.body_hash
      AND refused IS NOT TRUE
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  ) AS e
  WHERE known.is_known
)
SELECT given.event_id, pg_current_xact_id()::text AS transaction_id,
  CASE
    WHEN NOT given.is_mine THEN 'busy'
    WHEN known.is_known AND waiting.event_id IS NULL THEN 'record_first'
    WHEN NOT given.has_body AND b.body IS NULL THEN 'record_first'
    WHEN NOT known.is_known
      AND to_timestamp(given.received_at_ms / 1000) < now() - make_interval(days => :keysDays::int)
      THEN 'record_first'
    WHEN given.message IS NOT NULL AND ${CAME_BEFORE("given")} THEN 'record_first'
    WHEN given.message IS NOT NULL AND NOT ${MESSAGE_LOCK(":source::text", "given.message")} THEN 'busy'
    WHEN known.is_known THEN 'waiting'
    ELSE 'fresh'
  END AS kind,
  waiting.type, waiting.unsigned,
  (extract(epoch FROM waiting.received_at) * 1000)::float8 AS received_at_ms,
  coalesce(waiting.own_headers, b.headers) AS headers, b.body
FROM given
LEFT JOIN known USING (event_id)
LEFT JOIN waiting USING (event_id)
LEFT JOIN LATERAL (
  SELECT headers, body FROM millrace.bodies
  WHERE NOT given.has_body AND waiting.body_day = DATE '${day}'
    AND day = DATE '${day}' AND id = waiting.body_id
  LIMIT 1
) AS b ON true`,
  "millrace_admit",
);

/** One event with its body, in a third of the time: most of `ADMIT` is the start of its plan. */
const admitOne = (isUnsigned: boolean) =>
  statement(
    `
SELECT :eventId::text AS event_id, pg_current_xact_id()::text AS transaction_id,
  CASE
    WHEN NOT ${IDENTITY_LOCK(":source::text", ":eventId::text")} THEN 'busy'
    WHEN (
      SELECT true FROM millrace.events e
      WHERE e.source = :source AND e.event_id = :eventId AND e.generation = 0
      LIMIT 1
    ) THEN 'record_first'
    WHEN to_timestamp(:receivedAtMs::float8 / 1000) < now() - make_interval(days => :keysDays::int)
      THEN 'record_first'${
        isUnsigned
          ? `
    WHEN ${CAME_BEFORE("given")} THEN 'record_first'
    WHEN NOT ${MESSAGE_LOCK(":source::text", "given.message")} THEN 'busy'`
          : ""
      }
    ELSE 'fresh'
  END AS kind
FROM (SELECT ${LIMIT_HANDLERS},
  set_config('millrace.first_attempts', pg_current_xact_id()::text, true)) AS limits${
    isUnsigned ? ", (SELECT :eventId::text AS event_id, :message::text AS message) AS given" : ""
  }`,
    isUnsigned ? "millrace_admit_unsigned" : "millrace_admit_one",
  );
const ADMIT_ONE = admitOne(false);
const ADMIT_UNSIGNED = admitOne(true);

function admitStatement(
  ledger: LedgerContext,
  events: readonly EnvelopedEvent[],
  shared: Readonly<Record<string, unknown>>,
): pg.QueryConfig {
  const [only, ...others] = events;
  const messageOf = (event: EnvelopedEvent) =>
    isRepeatable(ledger, event) ? signedDigest(event) : null;
  if (only?.body !== undefined && others.length === 0) {
    const { source, eventId, acceptedAtMs } = only;
    const message = messageOf(only);
    const admitAlone = message === null ? ADMIT_ONE : ADMIT_UNSIGNED;
    return admitAlone({ source, eventId, message, receivedAtMs: acceptedAtMs, ...shared });
  }
  return ADMIT()({
    source: events[0]?.source,
    eventIds: events.map(({ eventId }) => eventId),
    bodyHashes: events.map(({ bodyHash }) => bodyHash),
    hasBody: events.map(({ body }) => body !== undefined),
    messages: events.map(messageOf),
    receivedAtMs: events.map(({ acceptedAtMs }) => acceptedAtMs),
    ...shared,
  });
}

export async function admit(
  ledger: LedgerContext,
  { client }: Pick<PooledConnection, "client">,
  events: readonly EnvelopedEvent[],
  limits: FirstLimits,
): Promise<{ transactionId: string; admissions: readonly Admission[] }> {
  const { idleInTransactionTimeoutMs, keysDays } = ledger;
  const results = await pipeline(client, [
    ...beginWith(client, [...PLAN_BY_KEY, SHOW_HANDLER]),
    admitStatement(ledger, events, {
      ...handlerLimits({ ...limits, idleInTransactionTimeoutMs }),
      keysDays,
    }),
  ]);
  const { rows } = results.at(-1) as pg.QueryResult<AdmitRow>;
  const byId = new Map(rows.map((row) => [row.event_id, row] as const));
  const messages = new Set<string>();
  const admissions = events.map((event): Admission => {
    const row = byId.get(event.eventId);
    if (row === undefined || row.kind === "record_first") return RECORD_FIRST;
    if (row.kind === "busy") return BUSY;
    const admitted = toAdmitted(event, row);
    if (admitted === undefined) return RECORD_FIRST;
    if (isRepeatable(ledger, admitted)) {
      const message = signedDigest(event);
      if (messages.has(message)) return RECORD_FIRST;
      messages.add(message);
    }
    return { kind: "admitted", event: admitted, isWaiting: row.kind === "waiting" };
  });
  return { transactionId: rows[0]?.transaction_id ?? "", admissions };
}

function toAdmitted(event: EnvelopedEvent, row: AdmitRow): IncomingEvent | undefined {
  const body = event.body ?? row.body ?? undefined;
  if (body === undefined) return undefined;
  if (row.kind === "fresh") return { ...event, body };
  // A record runs it by the row and notes the conflict.
  if (row.type !== event.type || row.unsigned !== event.unsigned) return undefined;
  return {
    ...event,
    acceptedAtMs: row.received_at_ms ?? event.acceptedAtMs,
    headers: event.body === undefined ? (row.headers ?? {}) : event.headers,
    body,
  };
}
