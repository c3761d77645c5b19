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
  refuseTwice(asked, filter);
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

type Terms<Name extends string> = { readonly [Key in Name]?: string | undefined };
type Find = { readonly find?: string | undefined };
type ListFilter<Name extends string, Asked> = Omit<Asked, "find"> & Terms<Name> & ListSearch;

/** Completes a filter of the audit by its search. @throws `invalid_request` */
export const readAuditSearch = <Asked extends Find>(asked: Asked) =>
  readTerms(asked, { source: "source", event: "eventId", action: "action", by: "actor" });

/** Completes a filter of the runs by its search. @throws `invalid_request` */
export const readRunSearch = <Asked extends Find>(asked: Asked) =>
  readTerms(asked, { verb: "verb", state: "state", by: "startedBy" });

/** @param names - of the filters, by the keys of their terms. */
function readTerms<Name extends string, Asked extends Find>(
  { find, ...asked }: Asked,
  names: Readonly<Record<string, Name>>,
): ListFilter<Name, Asked> {
  const keys = [...Object.keys(names), "since", "until"];
  const { filter, words } = parseSearch(find ?? "", [], keys);
  const { since, until, ...terms } = Object.fromEntries(Object.entries(filter).map(termOf));
  const times = readRequest(searchFilter.pick({ since: true, until: true }), { since, until });
  const named = Object.fromEntries(Object.entries(terms).map(([key, text]) => [names[key], text]));
  refuseTwice(asked, named);
  const search = { ...named, ...times, ...(words.length > 0 && { words }) };
  return { ...asked, ...search } as ListFilter<Name, Asked>;
}

function refuseTwice(asked: object, terms: object): void {
  const twice = Object.entries(asked).find(([key, value]) => value !== undefined && key in terms);
  if (twice === undefined) return;
  const why = `\`${twice[0]}:\` is a filter of its own already`;
  throw new MillraceError("invalid_request", `Cannot search: ${why}`);
}

/** A time may be an age. */
const termOf = ([key, text]: [string, string]): [string, string] =>
  key === "since" || key === "until" ? [key, readMoment(text)?.toISOString() ?? text] : [key, text];

/** A filter that a bulk run can work off. @throws `invalid_request` */
export function requireBulk<Filter extends EventSearch>({ words, body, ...filter }: Filter) {
  if ((words ?? body) === undefined) return filter;
  throw new MillraceError("invalid_request", "Cannot run a search by `body:` or by a bare word");
}
