import { MillraceError, type EventKey, type JsonPayload } from "@millrace/core";
import type { DeliveredEvent } from "./delivered.ts";
import { keyName } from "./key-name.ts";
import type { ScratchLedger } from "./open-ledger.ts";

/** More than Postgres keeps of one: a test sees the whole payload. */
const BODY_BYTES_MAX = 2 ** 30;

/**
 * Reads the status of an event.
 *
 * @param thrown - What handlers threw, by `keyName`.
 * @throws `event_not_found`
 */
export async function readDelivered(
  { ledger, tests }: Pick<ScratchLedger, "ledger" | "tests">,
  key: EventKey,
  thrown: ReadonlyMap<string, unknown>,
): Promise<DeliveredEvent> {
  const detail = await ledger.reads.findEvent(key, { bodyBytesMax: BODY_BYTES_MAX });
  if (detail === undefined) throw eventNotFound(key);
  const { event } = detail;
  const payload: JsonPayload = detail.payload === null ? null : JSON.parse(detail.payload.text);
  const { status, outcome, attempts, last_error: message, last_error_code: code } = event;
  const failed = status !== "completed" && message !== null;
  const error = failed ? { code, message, cause: thrown.get(keyName(key)) } : undefined;
  const nextAttemptInMs = dueInMs(event.next_attempt_at);
  const steps = await tests.steps(key);
  return { status, outcome, attempts, error, nextAttemptInMs, event, payload, steps };
}

function dueInMs(nextAttemptAt: string | null): number | undefined {
  return nextAttemptAt === null
    ? undefined
    : Math.max(0, new Date(nextAttemptAt).getTime() - Date.now());
}

/** The error for an event that no delivery brought. */
export function eventNotFound({ source, eventId }: EventKey): MillraceError {
  return new MillraceError(
    "event_not_found",
    `Cannot find event "${eventId}" of "${source}": nothing delivered it in this test environment`,
  );
}
