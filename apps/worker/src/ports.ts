import type { EnvelopedEvent, ErrorCode, EventKey } from "@millrace/core";
import type { ClaimPort } from "@millrace/processor";

/** What the worker needs of the ledger. */
export interface WorkerLedger extends ClaimPort {
  /**
   * Fails a pending event whose job ended without an attempt. An event that the ledger does not
   * know is recorded first when its body is given, and left alone when only its key is.
   */
  giveUp(
    event: EventKey | EnvelopedEvent,
    reason: { readonly code: ErrorCode; readonly message: string; readonly run: string },
  ): Promise<unknown>;
  /** Reads an event, for those who are told that it failed. */
  findEvent(key: EventKey): Promise<{ readonly event: { readonly attempts: number } } | undefined>;
}
