import type { ErrorCode } from "@millrace/core";
import type { DurablePlace } from "./ports.ts";

type PlaceName = DurablePlace["name"];

/**
 * What the intake tells its one subscriber, who turns it into logs and metrics. `source` is a
 * configured name, or undefined when the sender named none of them. Never a body or a secret.
 */
export type IntakeNotice =
  /** A delivery was answered, or refused before its body was read. */
  | {
      readonly kind: "answered";
      readonly source: string | undefined;
      readonly outcome: "accepted" | "duplicate" | "handshake" | "rejected";
      /** Why it was rejected. */
      readonly code: ErrorCode | undefined;
      /** From the whole body being there until the answer was known, milliseconds. */
      readonly durationMs: number;
    }
  /** Events shared one call to a durable place. */
  | {
      readonly kind: "batch";
      readonly place: PlaceName;
      readonly size: number;
      readonly durationMs: number;
    }
  /** A place failed, or was late, for this many events of one call. */
  | {
      readonly kind: "place_failed";
      readonly place: PlaceName;
      readonly events: number;
      readonly error: unknown;
    }
  /** Events that the ledger keeps were not put on the queue by us: the reconciler will. */
  | { readonly kind: "left_behind"; readonly events: number; readonly error: unknown }
  /** A known event came with another body; the first is kept. */
  | { readonly kind: "conflict"; readonly source: string; readonly eventId: string }
  /** A failed event came again: it was made to run again, or could not be in time. */
  | { readonly kind: "redelivered"; readonly source: string; readonly error?: unknown }
  /** Our own code, or a provider's, threw on a delivery. */
  | { readonly kind: "unexpected"; readonly source: string | undefined; readonly error: unknown };

export type Notify = (notice: IntakeNotice) => void;

/** Keeps a subscriber that throws from costing a delivery its answer. */
export function safeNotify(notify: Notify | undefined): Notify {
  if (notify === undefined) return () => {};
  return (notice) => {
    try {
      notify(notice);
    } catch {
      // There is nobody else to tell.
    }
  };
}
