import { MillraceError, type EventKey } from "@millrace/core";
import type pg from "pg";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { digestOf, MESSAGE_LOCK, SAME_MESSAGE, timeOf } from "./same-message.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { transaction } from "../connection/transaction.ts";

/**
 * The verdict on an event with an unsigned id, by its signed message: `original` came first, or a
 * person retried it; `replay` repeats an event of the last day; `suspect` repeats an older one, or
 * names another event, and may be genuine; `undecided` while another event with the message is
 * being handled.
 */
type ReplayVerdict = "original" | "replay" | "suspect" | "undecided";

/**
 * An event with the message of `mine` that was recorded before it, was handled already, or makes
 * its calls (`original`), because it could not see the earlier one, which was not committed yet.
 */
const EARLIER_THAN = (event: string) => `
  ${SAME_MESSAGE("mine.source", digestOf("mine"))}
  AND other.event_id <> ${event}.event_id
  AND (
    (other.status = 'completed' AND other.outcome <> 'suspected_replay')
    OR other.original
    OR (other.recorded_at, other.event_id) < (${event}.recorded_at, ${event}.event_id)
  )`;
const EARLIER = EARLIER_THAN("mine");

const SCOPE = (event: string) => `regexp_replace(${event}.event_id, '[^|]*$', '')`;

/**
 * True when an event at most a day apart, which is not suspected itself, is the same event as
 * `mine`. Behind a hundred deliveries the search ends: `mine` is suspect then. A pending event
 * counts if it is the first, or makes its calls.
 */
const REPEATS = `EXISTS (
  SELECT FROM (
    SELECT * FROM millrace.events other
    WHERE ${EARLIER}
      AND ${timeOf("other")} BETWEEN ${timeOf("mine")} - interval '24 hours'
        AND ${timeOf("mine")} + interval '24 hours'
    ORDER BY ${timeOf("other")} LIMIT 100
  ) AS one
  WHERE one.type = mine.type AND ${SCOPE("one")} = ${SCOPE("mine")}
    AND one.outcome IS DISTINCT FROM 'suspected_replay'
    AND NOT (one.status = 'failed' AND one.last_error_code = 'suspected_replay')
    AND NOT (
      one.status = 'pending' AND one.original IS NOT TRUE
      AND EXISTS (SELECT FROM millrace.events other WHERE ${EARLIER_THAN("one")})
    )
)`;

/** A suspected event is pending again only if a person retried it; its log remembers it. */
const WAS_RETRIED = `EXISTS (
  SELECT FROM millrace.attempts a
  WHERE a.source = mine.source AND a.event_id = mine.event_id AND a.generation = mine.generation
    AND a.code = 'suspected_replay'
)`;

/** Most messages came once, and are looked up once. $4: this transaction has the message's lock. */
const VERDICT = `
SELECT CASE
  WHEN mine.original THEN 'original'
  WHEN NOT EXISTS (SELECT FROM millrace.events other WHERE ${EARLIER})
    THEN CASE WHEN $4::bool OR ${WAS_RETRIED} THEN 'original' ELSE 'undecided' END
  WHEN ${WAS_RETRIED} THEN 'original'
  WHEN ${REPEATS} THEN 'replay'
  ELSE 'suspect'
END AS verdict
FROM millrace.events mine
WHERE mine.source = $1 AND mine.event_id = $2 AND mine.generation = $3`;

/**
 * Decides whether a locked event with an unsigned id has the signed message of another event: true
 * for a replay, undefined while that is not known. Of several at the same time exactly one is the
 * original: the transaction that handles a message holds its lock (`hasMessage`). Comes after the
 * lock, so that it sees the writes of the lock's last holder. Not prepared: a plan from when the
 * table was small would read all of it.
 * @throws `suspected_replay` for one that may be genuine
 */
export async function suspectReplay(
  client: pg.PoolClient,
  key: EventKey,
  hasMessage: boolean,
): Promise<boolean | undefined> {
  const values = [key.source, key.eventId, key.generation];
  const { rows } = await client.query<{ verdict: ReplayVerdict }>(VERDICT, [...values, hasMessage]);
  const verdict = rows[0]?.verdict ?? "undecided";
  if (verdict === "undecided") return undefined;
  if (verdict === "suspect") throw await suspected(client, values);
  return verdict === "replay";
}

const FIRST = `
SELECT other.event_id, other.type, other.recorded_at
FROM millrace.events mine JOIN millrace.events other ON ${EARLIER}
WHERE mine.source = $1 AND mine.event_id = $2 AND mine.generation = $3
ORDER BY other.recorded_at LIMIT 1`;

interface FirstRow {
  readonly event_id: string;
  readonly type: string;
  readonly recorded_at: Date;
}

async function suspected(client: pg.PoolClient, values: unknown[]): Promise<MillraceError> {
  const { rows } = await client.query<FirstRow>(FIRST, values);
  const first = rows.map(
    ({ event_id, type, recorded_at }) =>
      ` as ${JSON.stringify(event_id)} of type ${JSON.stringify(type)} at ${recorded_at.toISOString()}`,
  );
  return new MillraceError(
    "suspected_replay",
    `Cannot run event: what was signed came before${first.join("")}. If both are genuine, retry this event`,
  );
}

/**
 * Decides whether an event with an unsigned id may make its calls: `original` when no other event
 * with its signed message may, from this commit on; `replay` when another one may, or has been
 * handled; `undecided` while another one is being handled. `lost` when the event is not pending or
 * a later attempt has claimed it.
 * @throws `suspected_replay` for one that may be genuine
 */
export async function decideOriginal(
  ledger: LedgerContext,
  key: EventKey,
  attempt: number,
): Promise<"original" | "replay" | "undecided" | "lost"> {
  try {
    return await transaction(ledger.pool, (client) => decide(client, key, attempt), ledger.short);
  } catch (error) {
    if (sqlStateOf(error) === SQLSTATE.lockNotAvailable) return "undecided";
    throw error;
  }
}

const MINE = `e.source = $1 AND e.event_id = $2 AND e.generation = $3
  AND ${IS_PENDING("e")} AND e.attempts = $4`;

/** Locks the message first, so that later statements see the writes of the lock's last holder. */
const LOCK_MESSAGE = `
SELECT e.original IS TRUE AS is_original, ${MESSAGE_LOCK("e.source", digestOf("e"))} AS has_message
FROM millrace.events e WHERE ${MINE}`;

const MARK_ORIGINAL = `UPDATE millrace.events e SET original = true WHERE ${MINE}`;

interface MessageRow {
  readonly is_original: boolean;
  readonly has_message: boolean;
}

async function decide(
  client: pg.PoolClient,
  key: EventKey,
  attempt: number,
): Promise<"original" | "replay" | "undecided" | "lost"> {
  const values = [key.source, key.eventId, key.generation, attempt];
  const { rows } = await client.query<MessageRow>(LOCK_MESSAGE, values);
  const [row] = rows;
  if (row === undefined) return "lost";
  if (row.is_original) return "original";
  const isReplay = await suspectReplay(client, key, row.has_message);
  if (isReplay === undefined) return "undecided";
  if (isReplay) return "replay";
  const { rowCount } = await client.query(MARK_ORIGINAL, values);
  return rowCount === 1 ? "original" : "lost";
}
