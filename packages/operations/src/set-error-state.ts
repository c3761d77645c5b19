import type { ErrorGroup, ErrorState } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import { underAudit, type Actor } from "./audit.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "audit" | "errors">;
  readonly actor: Actor;
}

/**
 * Resolves, ignores or reopens a group of errors, under audit, and returns it as it is then.
 *
 * @param prefix - how its fingerprint begins.
 * @throws `error_not_found`, `invalid_request` when several begin so; `database_unavailable`
 */
export async function setErrorState(
  { ledger, actor }: Deps,
  prefix: string,
  { state, note }: { readonly state: ErrorState; readonly note?: string | undefined },
): Promise<ErrorGroup> {
  const { fingerprint } = await ledger.errors.get(prefix);
  await underAudit(
    { ledger, actor },
    { action: "set_error_state", filter: { error: fingerprint, state, note } },
    () => ledger.errors.setState(fingerprint, { state, note, by: actor.user }),
    () => ({ state }),
  );
  return await ledger.errors.get(fingerprint);
}
