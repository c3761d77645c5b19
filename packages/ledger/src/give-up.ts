import type { EnvelopedEvent, ErrorCode, EventKey, EventStatus } from "@millrace/core";
import { accept } from "./accept.ts";
import { cutText } from "./cut-text.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { GIVE_UP, IS_EXPIRED } from "./sql/give-up.ts";
import { runStatement } from "./transaction.ts";

/** Why an event is given up, and in which run of its job. */
export interface GiveUpReason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly run: string;
}

/** `failed` now; or it had settled before; or the ledger does not know it, and has no body for it or may
 * have forgotten it. */
export type GiveUpAnswer = "failed" | "already_failed" | "completed" | "unknown";

/**
 * Fails a pending event whose job the queue gave up without a handler. An event that the ledger does
 * not know is recorded first, when its body is at hand; but not one that was accepted longer ago than
 * identities are kept: it may have been completed. An attempt that still runs is waited for.
 *
 * @throws `database_unavailable`, also when an attempt holds the event for longer than lock_timeout.
 */
export async function giveUp(
  ledger: LedgerContext,
  event: EventKey | EnvelopedEvent,
  reason: GiveUpReason,
): Promise<GiveUpAnswer> {
  const answer = await giveUpKnown(ledger, event, reason);
  if (answer !== "unknown" || !("body" in event) || event.body === undefined) return answer;
  if (await isExpired(ledger, event)) return answer;
  // When the process dies in between, the event is pending without a job, as it would be anyway.
  const [placement] = await accept(ledger, [{ ...event, body: event.body }]);
  if (placement instanceof Error) throw placement;
  return await giveUpKnown(ledger, event, reason);
}

async function isExpired(
  ledger: LedgerContext,
  { acceptedAtMs }: Pick<EnvelopedEvent, "acceptedAtMs">,
): Promise<boolean> {
  const { rows } = await runStatement<{ expired: boolean }>(
    ledger.pool,
    { text: IS_EXPIRED, values: [acceptedAtMs, ledger.keysDays] },
    ledger.short,
  );
  return rows[0]?.expired === true;
}

async function giveUpKnown(
  ledger: LedgerContext,
  key: EventKey,
  reason: GiveUpReason,
): Promise<GiveUpAnswer> {
  const values = [
    ...[key.source, key.eventId, key.generation],
    ...[reason.code, cutText(reason.message), reason.run],
  ];
  const { rows } = await runStatement<{ status: EventStatus }>(
    ledger.pool,
    { text: GIVE_UP, values },
    ledger.short,
  );
  switch (rows[0]?.status) {
    case "pending":
      return "failed";
    case "failed":
      return "already_failed";
    case "completed":
      return "completed";
    default:
      return "unknown";
  }
}
