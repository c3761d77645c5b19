import type { AuditEntry, AuditPage, ReadQueryOf } from "@millrace/api-contract";
import { areStorable, MillraceError } from "@millrace/core";
import { cutGiven, toJson } from "../connection/cut-text.ts";
import { toWire, type LedgerContext } from "../connection/ledger-context.ts";
import { statement } from "../connection/statement.ts";

export type AuditJson = Readonly<Record<string, unknown>>;

export interface AuditedAct {
  readonly action: string;
  readonly source?: string | undefined;
  readonly eventId?: string | undefined;
  readonly generation?: number | undefined;
  /** The filter of an action on more than one event. */
  readonly filter?: AuditJson | undefined;
}

export interface Actor extends Pick<AuditEntry, "role" | "via"> {
  readonly user: string | null;
  readonly reason?: string | undefined;
}

interface AuditIntent extends AuditedAct, Omit<Actor, "user"> {
  readonly actor: Actor["user"];
}

/** Something that happened, such as a sign-in: its entry is whole at once. */
export interface AuditedFact extends Omit<AuditIntent, "filter" | "reason"> {
  readonly result: AuditJson;
}

/** Of a list's entries: times, and words that an entry must contain, in either case. */
export interface ListSearch {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly words?: readonly string[] | undefined;
}

type AuditQuery = Omit<ReadQueryOf<"get /audit">, "event_id" | "find"> &
  ListSearch & { readonly eventId?: string | undefined };

// An index holds no long names.
const NAME_BYTES_MAX = 256;
const ID_BYTES_MAX = 1_024;

const BEGIN_AUDIT = statement(`
INSERT INTO millrace.audit
  (actor, role, via, action, source, event_id, generation, filter, reason)
VALUES (:actor, :role, :via, :action, :source, :eventId, :generation, :filter, :reason)
RETURNING id::text AS id`);

/** Adds the result as a row of its own: the audit refuses an UPDATE. */
const END_AUDIT = `
INSERT INTO millrace.audit_results (id, result) VALUES ($1, $2) ON CONFLICT DO NOTHING`;

const RECORD_AUDIT = `
INSERT INTO millrace.audit
  (actor, role, via, action, source, event_id, generation, result)
SELECT actor, role, via, action, source, "eventId", generation, result
FROM jsonb_to_recordset($1::jsonb) AS fact (actor text, role text, via text, action text, source text,
  "eventId" text, generation integer, result jsonb)`;

/** A page, newest first; a null parameter filters nothing. A fact has its result in its own row. */
const FIND_AUDIT = `
SELECT audit.id::text AS id, audit.at, actor, role, via, action, source, event_id, generation, filter,
  reason, coalesce(ended.result, audit.result) AS result
FROM millrace.audit LEFT JOIN millrace.audit_results ended ON ended.id = audit.id
WHERE ($1::text IS NULL OR source = $1)
  AND ($2::text IS NULL OR event_id = $2)
  AND ($3::text IS NULL OR action = $3)
  AND ($4::text IS NULL OR actor = $4)
  AND ($5::bigint IS NULL OR audit.id < $5)
  AND ($7::timestamptz IS NULL OR audit.at >= $7)
  AND ($8::timestamptz IS NULL OR audit.at < $8)
ORDER BY audit.id DESC
LIMIT $6`;

/** Entries that a search for words reads for a page. */
const SEARCHED_MAX = 20_000;
const STEP = 1_000;

export async function beginAudit(ledger: LedgerContext, intent: AuditIntent): Promise<string> {
  const { generation, filter, reason } = intent;
  const query = BEGIN_AUDIT({
    ...cutNames(intent),
    generation: generation ?? null,
    filter: filter === undefined ? null : toJson(filter),
    reason: cutGiven(reason),
  });
  const { rows } = await ledger.send<{ id: string }>(query);
  const [row] = rows;
  if (row === undefined) throw new MillraceError("internal", "Cannot audit: no row was written");
  return row.id;
}

export async function endAudit(
  ledger: LedgerContext,
  id: string,
  result: AuditJson,
): Promise<void> {
  await ledger.send({ text: END_AUDIT, values: [id, toJson(result)] });
}

export async function recordAudit(
  ledger: LedgerContext,
  facts: readonly AuditedFact[],
): Promise<void> {
  await ledger.send({ text: RECORD_AUDIT, values: [toJson(facts.map(cutNames))] });
}

function cutNames<Act extends Omit<AuditIntent, "filter" | "reason">>(act: Act) {
  return {
    ...act,
    actor: cutGiven(act.actor, ID_BYTES_MAX),
    source: cutGiven(act.source, NAME_BYTES_MAX),
    eventId: cutGiven(act.eventId, ID_BYTES_MAX),
  };
}

/**
 * A search for words reads 20,000 entries at most; `next` goes on from there.
 * @throws `invalid_request` for a cursor that is not valid
 */
export async function findAudit(
  ledger: LedgerContext,
  { source, eventId, action, actor, since, until, words, limit, cursor }: AuditQuery,
): Promise<AuditPage> {
  if (cursor !== undefined && !/^\d{1,18}$/.test(cursor)) {
    throw new MillraceError("invalid_request", "Cannot list the audit: the cursor is not valid");
  }
  const filter = [source, eventId, action, actor];
  if (!areStorable(filter)) return { entries: [], next: null };
  const step = words === undefined ? limit + 1 : STEP;
  const entries: AuditEntry[] = [];
  let last = cursor;
  for (let searched = step; ; searched += step) {
    const values = [...filter, last, step, since, until];
    const { rows } = await ledger.send<AuditEntry>({ text: FIND_AUDIT, values });
    for (const row of rows) {
      if (entries.length === limit) return { entries, next: last ?? null };
      last = row.id;
      const entry = toWire(row);
      if (contains(entry, words)) entries.push(entry);
    }
    if (rows.length < step) return { entries, next: null };
    if (searched >= SEARCHED_MAX) return { entries, next: last ?? null };
  }
}

function contains(entry: AuditEntry, words: readonly string[] = []): boolean {
  const text = words.length === 0 ? "" : JSON.stringify(Object.values(entry)).toLowerCase();
  return words.every((word) => text.includes(JSON.stringify(word).slice(1, -1).toLowerCase()));
}
