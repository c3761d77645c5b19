import type { Ledger } from "@millrace/ledger";

/**
 * A filter whose `error` is a whole fingerprint: people give its beginning, as to `millrace errors`.
 *
 * @throws `error_not_found` when no error's begins so, `invalid_request` when those of several do; `database_unavailable`
 */
export async function withWholeError<Filter extends { readonly error?: string | undefined }>(
  { errors }: Pick<Ledger, "errors">,
  filter: Filter,
): Promise<Filter> {
  const { error } = filter;
  return error === undefined ? filter : { ...filter, error: await errors.findFingerprint(error) };
}
