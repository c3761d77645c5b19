import { causes, SQLSTATE, sqlStateOf } from "./sqlstate.ts";

/** Postgres parses and plans a statement each time, unless it is prepared: a third of what an INSERT costs. */
const FROM_USES = 20;
/** Prepared statements at most: a connection keeps them for as long as it lives. */
const NAMES_MAX = 100;
/** Texts whose uses are counted. A text that has values in it is another one each time. */
const TEXTS_MAX = 1_000;

const uses = new Map<string, number>();
const names = new Map<string, string>();

/** Counts a use of a statement. Gives the name to prepare it by, once it has been used often. */
export function preparedName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= NAMES_MAX) return known;
  const count = (uses.get(text) ?? 0) + 1;
  if (count < FROM_USES) {
    if (uses.size >= TEXTS_MAX) uses.clear();
    uses.set(text, count);
    return undefined;
  }
  uses.delete(text);
  const name = `millrace_handler_${names.size + 1}`;
  names.set(text, name);
  return name;
}

/** True when a prepared statement no longer fits the tables, because a column was added or changed its type. */
export function isStale(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state === SQLSTATE.invalidSqlStatementName) return true;
  // The same state also says that Postgres lacks a feature, and the message is translated.
  const isOfPlan = [...causes(error)].some(
    (link) => "routine" in link && link.routine === "RevalidateCachedQuery",
  );
  return state === SQLSTATE.featureNotSupported && isOfPlan;
}
