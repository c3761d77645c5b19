import { parseSearch, readMoment, readRequest, searchFilter } from "@millrace/api-contract";
import { MillraceError, type Config } from "@millrace/core";
import type { EventSearch, Ledger, ListSearch } from "@millrace/ledger";

const FINGERPRINT = /^\d+-[0-9a-f]*$/;
/** Errors that a search by their text looks at, the last seen first. */
const ERRORS_MAX = 200;

/**
 * Reads the search of `find` into the other fields, and completes an `error` of which a user can
 * type the beginning. Without `sources`, the config's, any name is one of a value.
 * @throws `invalid_request`, `error_not_found`
 */
export async function readFilter<Filter extends EventSearch>(
  { errors }: Pick<Ledger, "errors">,
  { find, ...asked }: Filter,
  sources?: Config["sources"],
): Promise<Omit<Filter, "find"> & EventSearch> {
  const labels =
    sources &&
    Object.values(sources).flatMap(({ options }) => options.find.map(({ label }) => label));
  const { filter, values, words, body } = parseSearch(find ?? "", labels);
  const { error = asked.error, ...given } = filter;
  const twice = Object.entries(asked).find(([key, value]) => value !== undefined && key in filter);
  if (twice !== undefined) {
    const why = `\`${twice[0]}:\` is a filter of its own already`;
    throw new MillraceError("invalid_request", `Cannot search: ${why}`);
  }
  const search: EventSearch = {
    ...readRequest(searchFilter, Object.fromEntries(Object.entries(given).map(termOf))),
    ...(values.length > 0 && { values }),
    ...(words.length > 0 && { words, labels }),
    ...(body.length > 0 && { body }),
  };
  if (error === undefined) return { ...asked, ...search };
  if (FINGERPRINT.test(error) || asked.error !== undefined) {
    return { ...asked, ...search, error: await errors.findFingerprint(error) };
  }
  const found = await errors.find({ q: error, limit: ERRORS_MAX });
  return { ...asked, ...search, errors: found.errors.map(({ fingerprint }) => fingerprint) };
}

const LIST_TERMS = {
  audit: { source: "source", event: "eventId", action: "action", by: "actor" },
  runs: { verb: "verb", state: "state", by: "startedBy" },
} as const;

type Names<List extends keyof typeof LIST_TERMS> = (typeof LIST_TERMS)[List];
type ListTerms<List extends keyof typeof LIST_TERMS> = {
  readonly [Name in Names<List>[keyof Names<List>] & string]?: string;
};

/**
 * Reads the search of the audit or of the runs: terms, and words that an entry must contain.
 * @throws `invalid_request`
 */
export function readListSearch<List extends keyof typeof LIST_TERMS>(
  list: List,
  find: string | undefined,
): ListSearch & ListTerms<List> {
  const names: Readonly<Record<string, string>> = LIST_TERMS[list];
  const { filter, words } = parseSearch(find ?? "", [], [...Object.keys(names), "since", "until"]);
  const { since, until, ...terms } = Object.fromEntries(Object.entries(filter).map(termOf));
  const times = readRequest(searchFilter.pick({ since: true, until: true }), { since, until });
  const named = Object.entries(terms).map(([key, text]) => [names[key], text]);
  return { ...Object.fromEntries(named), ...times, ...(words.length > 0 && { words }) };
}

/** A time may be an age. */
const termOf = ([key, text]: [string, string]): [string, string] =>
  key === "since" || key === "until" ? [key, readMoment(text)?.toISOString() ?? text] : [key, text];

/** A filter that a bulk run can work off. @throws `invalid_request` */
export function requireBulk<Filter extends EventSearch>({ words, body, ...filter }: Filter) {
  if ((words ?? body) === undefined) return filter;
  throw new MillraceError("invalid_request", "Cannot run a search by `body:` or by a bare word");
}
