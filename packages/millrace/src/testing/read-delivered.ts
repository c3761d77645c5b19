import { MillraceError, type EventKey } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { DeliveredEvent } from "./delivered.ts";
import { keyName } from "./key-name.ts";

/**
 * Reads the status of an event.
 *
 * @param thrown - What handlers threw, by `keyName`.
 * @throws `event_not_found`
 */
export async function readDelivered(
  ledger: Ledger,
  key: EventKey,
  thrown: ReadonlyMap<string, unknown>,
): Promise<DeliveredEvent> {
  const detail = await ledger.reads.findEvent(key);
  if (detail === undefined) throw eventNotFound(key);
  const { event } = detail;
  const { status, outcome, attempts, last_error: message, last_error_code: code } = event;
  const failed = status !== "completed" && message !== null;
  const error = failed ? { code, message, cause: thrown.get(keyName(key)) } : undefined;
  return { status, outcome, attempts, error, nextAttemptInMs: undefined, event };
}

/** The error for an event that no delivery brought. */
export function eventNotFound({ source, eventId }: EventKey): MillraceError {
  return new MillraceError(
    "event_not_found",
    `Cannot find event "${eventId}" of "${source}": nothing delivered it in this test environment`,
  );
}
