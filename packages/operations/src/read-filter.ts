import { parseSearch, readMoment, readRequest, searchFilter } from "@millrace/api-contract";
import { MillraceError, type Config } from "@millrace/core";
import type { EventSearch, Ledger } from "@millrace/ledger";

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

/** A time may be an age. */
const termOf = ([key, text]: [string, string]): [string, string] =>
  key === "since" || key === "until" ? [key, readMoment(text)?.toISOString() ?? text] : [key, text];

/** A filter that a bulk run can work off. @throws `invalid_request` */
export function requireBulk<Filter extends EventSearch>({ words, body, ...filter }: Filter) {
  if ((words ?? body) === undefined) return filter;
  throw new MillraceError("invalid_request", "Cannot run a search by `body:` or by a bare word");
}
