import type { EventKey } from "@millrace/core";
import type pg from "pg";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import {
  BODY_OF,
  CONTENT,
  readContent,
  today,
  type ContentRow,
  type EventContent,
} from "./read-event.ts";
import { digestOf, MESSAGE_LOCK } from "./same-message.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { suspectReplay } from "./suspect-replay.ts";
import { runStatementOn, transaction, withLease } from "../connection/transaction.ts";

// What an attempt asks before its calls. Each answer is in a commit of its own: while calls run, no transaction is open.

/**
 * Decides whether an event whose id nobody signed may make its calls: `original` when no other event may that has the same
 * signed message, from this commit on; `replay` when another one may, or has been handled. `undecided` while another event
 * with the message is being handled. `lost` when the event is not pending any longer, or a later attempt has claimed it.
 *
 * @throws `suspected_replay` for one that may be genuine; `database_unavailable`
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

/** The lock of the message comes first, so that the statements after it see what whoever had it before has written. */
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

/** What the ledger has of an event that is about to make its calls. */
export interface BegunEvent {
  readonly content: EventContent;
  /** The results of the steps that earlier attempts have ended, by name: JSON, or null for undefined. */
  readonly steps: ReadonlyMap<string, string | null>;
}

type BegunRow = ContentRow & { readonly steps: Readonly<Record<string, string | null>> | null };

const READ_BEGUN = (day: string) => `
SELECT ${CONTENT}, (
  SELECT json_object_agg(s.name, s.result) FROM millrace.steps s
  WHERE $4::int > 1 AND s.source = e.source AND s.event_id = e.event_id AND s.generation = e.generation
) AS steps
FROM millrace.events e ${BODY_OF(day)}
WHERE ${MINE}`;

/**
 * Reads a claimed event and, in an attempt after the first, the steps that have ended; without a lock. Undefined when the
 * event is not pending any longer, or a later attempt has claimed it.
 *
 * @throws `body_missing`, `database_unavailable`
 */
export async function readBegun(
  ledger: LedgerContext,
  { source, eventId, generation }: EventKey,
  attempt: number,
): Promise<BegunEvent | undefined> {
  const { limits, deadlineMs } = ledger.prepared;
  const day = today();
  const values = [source, eventId, generation, attempt];
  const query = { name: `millrace_read_begun_${day}`, text: READ_BEGUN(day), values };
  return await withLease(ledger.pool, deadlineMs, async ({ client }) => {
    const { rows } = await runStatementOn<BegunRow>(client, query, limits);
    const [row] = rows;
    if (row === undefined) return undefined;
    const content = await readContent(client, row);
    return { content, steps: new Map(Object.entries(row.steps ?? {})) };
  });
}
