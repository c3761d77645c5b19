import { isMillraceError } from "@millrace/core";
import type { AuditIntent, AuditJson, Ledger } from "@millrace/ledger";
import type { Actor } from "./actor.ts";

/** What is audited: what is done, and to what. */
export type AuditedAct = Pick<
  AuditIntent,
  "action" | "source" | "eventId" | "generation" | "filter"
>;

interface Deps {
  readonly ledger: Pick<Ledger, "beginAudit" | "endAudit">;
  readonly actor: Actor;
}

/**
 * Does something under audit: who means to do it is written down before, what became of it after.
 * Nothing is done when the first cannot be written. When the second cannot, it was done all the same:
 * the entry stays without a result, and what is returned is what was done.
 *
 * @throws `database_unavailable`, and what `act` throws.
 */
export async function underAudit<Result>(
  { ledger, actor }: Deps,
  intent: AuditedAct,
  act: () => Promise<Result>,
  resultOf: (result: Result) => AuditJson,
): Promise<Result> {
  const { user, role, via, reason } = actor;
  const id = await ledger.beginAudit({ actor: user, role, via, reason, ...intent });
  const end = async (result: AuditJson) => {
    try {
      await ledger.endAudit(id, result);
    } catch {
      // See above: an error would say that it was not done.
    }
  };
  try {
    const result = await act();
    await end(resultOf(result));
    return result;
  } catch (error) {
    await end({ error: isMillraceError(error) ? error.code : "internal" });
    throw error;
  }
}
