import { MillraceError } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { underAudit, type Actor } from "./audit.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "audit" | "sessions">;
  readonly actor: Actor;
}

/**
 * Ends a session of the dashboard, under audit. Every dashboard refuses it within ten seconds.
 *
 * @throws `session_not_found`; `database_unavailable` when it cannot be written down.
 */
export async function endSession({ ledger, actor }: Deps, id: string): Promise<void> {
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
