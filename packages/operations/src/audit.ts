import type { ErrorGroup, ReadBodyOf } from "@millrace/api-contract";
import { ownerName } from "@millrace/api-contract/run-text";
import { isMillraceError, MillraceError } from "@millrace/core";
import type { Actor, AuditedAct, AuditJson, Ledger } from "@millrace/ledger";

interface Deps {
  readonly ledger: Pick<Ledger, "audit">;
  readonly actor: Actor;
}

/**
 * Does nothing when the intent cannot be written; an entry may stay without its result.
 * @throws `database_unavailable`, and what `act` throws.
 */
export async function underAudit<Result>(
  { ledger, actor }: Deps,
  intent: AuditedAct,
  act: (auditId: string) => Promise<Result>,
  resultOf: (result: Result) => AuditJson,
): Promise<Result> {
  const { user, role, via, reason } = actor;
  const id = await ledger.audit.begin({ actor: user, role, via, reason, ...intent });
  const end = async (result: AuditJson) => {
    try {
      await ledger.audit.end(id, result);
    } catch {
      // An error would say that the act was not done.
    }
  };
  try {
    const result = await act(id);
    await end(resultOf(result));
    return result;
  } catch (error) {
    await end({ error: isMillraceError(error) ? error.code : "internal" });
    throw error;
  }
}

/** @throws `session_not_found`; `database_unavailable` */
export async function endSession(
  { ledger, actor }: Deps & { readonly ledger: Pick<Ledger, "sessions"> },
  id: string,
): Promise<void> {
  const end = async () => {
    if (await ledger.sessions.end(id)) return;
    const message = `Cannot end session ${JSON.stringify(id)}: it is not active`;
    throw new MillraceError("session_not_found", message);
  };
  const intent = { action: "end_session", filter: { session: id } };
  await underAudit({ ledger, actor }, intent, end, () => ({ ended: true }));
}

/**
 * @throws `error_not_found`, `invalid_request` if several groups match; `error_not_open` for `mine`
 * of an error that is not open; `database_unavailable`
 */
export async function changeError(
  { ledger, actor }: Deps & { readonly ledger: Pick<Ledger, "errors"> },
  prefix: string,
  { state, note, mine }: Pick<ReadBodyOf<"post /errors/:fingerprint">, "state" | "note" | "mine">,
): Promise<ErrorGroup> {
  const { fingerprint, state: before } = await ledger.errors.get(prefix);
  const refuse = () => {
    const message = `Cannot say who is on error ${fingerprint}: it is not open. Reopen it first`;
    throw new MillraceError("error_not_open", message);
  };
  if (state === undefined && before !== "open") refuse();
  const change = async () => {
    if (state !== undefined) {
      return await ledger.errors.setState(fingerprint, { state, note, by: actor.user });
    }
    const owner = mine === true ? ownerName(actor) : null;
    // It may have been resolved since it was read.
    if (!(await ledger.errors.setOwner(fingerprint, owner))) refuse();
  };
  const filter = { error: fingerprint, state, note, mine };
  await underAudit({ ledger, actor }, { action: "set_error_state", filter }, change, () => ({
    ...{ state, mine },
  }));
  return await ledger.errors.get(fingerprint);
}
