import type { ErrorCode, SignatureFailure } from "@millrace/core";
import type { StoreName } from "./event-store.ts";

/**
 * The reason to refuse a delivery before its body: its head (`bad_head`, `too_large`), what is
 * held (`source_share`, `budget`, `gave_way`), or how its body came (`too_slow`, `timeout`,
 * `too_many_chunks`).
 */
export type AdmissionReason =
  | "bad_head"
  | "too_large"
  | "source_share"
  | "budget"
  | "gave_way"
  | "too_slow"
  | "timeout"
  | "too_many_chunks";

/**
 * The reports of the intake to its one subscriber, who makes logs and metrics of them. Never a
 * body or a secret. `source` is a configured name.
 */
export type IntakeNotice =
  | {
      readonly kind: "answered";
      readonly source: string | undefined;
      readonly tenant?: string | undefined;
      /** The name in the URL, if it is no source but a source could have it. */
      readonly asked?: string | undefined;
      readonly outcome: "accepted" | "duplicate" | "handshake" | "rejected";
      readonly code: ErrorCode | undefined;
      readonly failure?: SignatureFailure | undefined;
      readonly admission?: AdmissionReason | undefined;
      /** From the last byte of the body until the response is known, milliseconds. */
      readonly durationMs: number;
    }
  /** An event store failed, or was late, for this many events; 0 for a readiness check. */
  | {
      readonly kind: "store_failed";
      readonly store: StoreName;
      readonly events: number;
      readonly error: unknown;
    }
  /** Events that the ledger has were not put on the queue by this process: the reconciler will. */
  | { readonly kind: "left_behind"; readonly events: number; readonly error: unknown }
  /** Deliveries of known events were not counted: too many waited, or the ledger was away. */
  | { readonly kind: "deliveries_unnoted"; readonly deliveries: number; readonly error: unknown }
  | { readonly kind: "conflict"; readonly source: string; readonly eventId: string }
  /** A failed event was delivered again: it is retried, or could not be in time. */
  | { readonly kind: "redelivered"; readonly source: string; readonly error?: unknown }
  | { readonly kind: "unexpected"; readonly source: string | undefined; readonly error: unknown };

export type Notify = (notice: IntakeNotice) => void;
