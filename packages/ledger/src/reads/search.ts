import type { Search } from "@millrace/api-contract";
import { areStorable, findText, MillraceError } from "@millrace/core";
import { queryRows, read, toWire, type LedgerContext } from "../connection/ledger-context.ts";
import {
  conditionsOf,
  countEvents,
  cursorOf,
  findEvents,
  limitOf,
  LISTED_COLUMNS,
  orderOf,
  scannedOf,
  windowOf,
  type CountedEvents,
  type EventFilter,
  type FoundPage,
  type ListedRow,
  type SearchWord,
} from "./find-events.ts";

/** A filter with the words of a search, and the names of values that a word may be under. */
export interface EventSearch extends Omit<EventFilter, "searchWords"> {
  readonly words?: Search["words"] | undefined;
  readonly labels?: readonly string[] | undefined;
  /** Texts that the body contains, byte for byte. */
  readonly body?: Search["body"] | undefined;
}

export async function searchEvents(
  ledger: LedgerContext,
  { body, ...search }: EventSearch,
): Promise<FoundPage> {
  const filter = await withWords(ledger, search);
  return body === undefined
    ? await findEvents(ledger, filter)
    : await searchBodies(ledger, filter, body);
}

/** @throws `invalid_request` for a search in bodies */
export async function countFound(
  ledger: LedgerContext,
  { body, ...search }: EventSearch,
  countMax: number,
): Promise<CountedEvents> {
  if (body === undefined)
    return await countEvents(ledger, await withWords(ledger, search), countMax);
  throw new MillraceError("invalid_request", "Cannot count the events of a search with `body:`");
}

/** Ids that begin with a word and are found by it. More of them take longer than newest events. */
const BEGINNINGS_MAX = 1_000;

/**
 * A word that no event has as a value is the beginning of ids, or it is searched within the ids of
 * events, newest first, if no id begins with it, or too many do.
 */
async function withWords(
  ledger: LedgerContext,
  { words, labels = [], ...filter }: EventSearch,
): Promise<EventFilter> {
  if (words === undefined) return filter;
  const isKnown = async (value: string) =>
    (await findEvents(ledger, { values: [value], limit: 1 })).events.length > 0;
  const searchWords: SearchWord[] = [];
  for (const text of words) {
    const values: string[] = [];
    for (const value of labels.map((label) => findText(label, text))) {
      if (await isKnown(value)) values.push(value);
    }
    const beginnings = values.length > 0 ? 1 : await countIds(ledger, text, BEGINNINGS_MAX + 1);
    const isPart = beginnings === 0 || beginnings > BEGINNINGS_MAX;
    searchWords.push({ text, values, isPart });
  }
  return { ...filter, searchWords };
}

/** Ids that begin with a word, at most `max`. */
async function countIds(ledger: LedgerContext, word: string, max: number): Promise<number> {
  if (!areStorable([word])) return 0;
  const values: unknown[] = [];
  const where = conditionsOf({ q: word }, values);
  const text = `
SELECT count(*)::int AS ids
FROM (SELECT FROM millrace.events e WHERE ${where} LIMIT ${max}) AS found`;
  return (await queryRows<{ ids: number }>(ledger, text, values))[0]?.ids ?? 0;
}

/** Events of one statement, whose bodies may have 64 MiB each. */
const STEP = 100;
const SEARCHED_MAX = 20_000;
const SEARCH_MS = 2_000;

// Statement by statement on one connection, until the page is full, or so many events are read, or
// the time is over; `next` goes on from there.
async function searchBodies(
  ledger: LedgerContext,
  filter: EventFilter,
  texts: readonly string[],
): Promise<FoundPage> {
  const limit = limitOf(filter);
  return await read(ledger, async (client) => {
    const untilMs = performance.now() + SEARCH_MS;
    const events: FoundPage["events"][number][] = [];
    let { cursor } = filter;
    for (let searched = STEP; ; searched += STEP) {
      const { text, values } = stepQuery({ ...filter, cursor }, texts);
      const { rows } = await client.query<ListedRow & { readonly matches: boolean }>(text, values);
      for (const row of rows) {
        const { recorded_at_text: _, matches, ...event } = row;
        if (matches) events.push(toWire(event));
        cursor = cursorOf(row);
        const isOver = performance.now() > untilMs || searched >= SEARCHED_MAX;
        if (events.length === limit || (isOver && row === rows.at(-1))) {
          const searchedTo = events.length === limit ? null : toWire(event).recorded_at;
          return { events, next: cursor, searched_to: searchedTo };
        }
      }
      if (rows.length < STEP) return { events, next: null, searched_to: null };
    }
  });
}

function stepQuery(filter: EventFilter, texts: readonly string[]) {
  const values: unknown[] = [];
  const from = windowOf(scannedOf(filter) ?? filter, values, STEP);
  const where = conditionsOf(filter, values);
  const contains = texts.map(
    (text) => `position($${values.push(Buffer.from(text))}::bytea IN b.body) > 0`,
  );
  const text = `
SELECT ${LISTED_COLUMNS}, CASE WHEN ${where} THEN EXISTS (
    SELECT FROM millrace.bodies b
    WHERE b.day = e.body_day AND b.id = e.body_id AND ${contains.join(" AND ")}
  ) ELSE false END AS matches
FROM ${from} e ${orderOf(filter)}`;
  return { text, values };
}
