import type { AuditEntry, ErrorGroup, ErrorState } from "@millrace/api-contract";
import { isMillraceError, MillraceError } from "@millrace/core";
import type { AuditedAct, AuditJson, Ledger } from "@millrace/ledger";

/** Who does something, and why. */
export interface Actor {
  /** The user; null when none is known. */
  readonly user: string | null;
  readonly role: AuditEntry["role"];
  /**
   * Through what: a page's session, a program's token, an open loopback, the command, bull-board.
   */
  readonly via: AuditEntry["via"];
  /** In the actor's own words. */
  readonly reason?: string | undefined;
}

interface Deps {
  readonly ledger: Pick<Ledger, "audit">;
  readonly actor: Actor;
}

/**
 * Does something under audit: the intent is written before, the result after. Nothing is done when
 * the intent cannot be written. When the result cannot, the act is done all the same: the entry
 * stays without a result, and the caller gets the result. `act` gets the id of the entry.
 *
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
      // See above: an error would say that it was not done.
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

interface AuditDeps<Part extends "sessions" | "errors"> {
  readonly ledger: Pick<Ledger, "audit" | Part>;
  readonly actor: Actor;
}

/**
 * Ends a session of the dashboard, under audit. Every dashboard refuses it within ten seconds.
 *
 * @throws `session_not_found`; `database_unavailable` when it cannot be written down.
 */
export async function endSession(
  { ledger, actor }: AuditDeps<"sessions">,
  id: string,
): Promise<void> {
  const end = async () => {
    if (await ledger.sessions.end(id)) return;
    throw new MillraceError(
      "session_not_found",
      `Cannot end session ${JSON.stringify(id)}: it is not active`,
    );
  };
  const intent = { action: "end_session", filter: { session: id } };
  await underAudit({ ledger, actor }, intent, end, () => ({ ended: true }));
}

/**
 * Resolves, ignores or reopens a group of errors, under audit, and returns it as it is then.
 *
 * @param prefix - how its fingerprint begins.
 * @throws `error_not_found`, `invalid_request` when it is the beginning of several;
 * `database_unavailable`
 */
export async function setErrorState(
  { ledger, actor }: AuditDeps<"errors">,
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
