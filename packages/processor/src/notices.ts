import type { ErrorCode, EventKey, JobResult, MacProblem, Outcome } from "@millrace/core";

/**
 * The notices of the processor, which logs nothing itself. No notice has a body, a header, or a
 * query parameter.
 */
export type Notice =
  /** An attempt is claimed. */
  | {
      readonly kind: "claimed";
      readonly key: EventKey;
      readonly attempt: number;
      readonly attemptSinceRetry: number;
      /** Milliseconds from when the queue took the job to this claim. */
      readonly queueAgeMs: number;
    }
  /** A job has no valid MAC. It was refused; or it ran, with what the ledger has. */
  | {
      readonly kind: "mac_invalid";
      readonly key: EventKey;
      readonly mac: MacProblem;
      readonly refused: boolean;
    }
  /** A job's event is known with another body, type, or `unsigned`. The first one is kept. */
  | { readonly kind: "conflict"; readonly key: EventKey }
  /** A run of a job has its result. */
  | {
      readonly kind: "finished";
      readonly key: EventKey;
      readonly result: JobResult["kind"];
      /** For the result `completed`. */
      readonly outcome: Outcome | undefined;
      /** For the results `failed` and `retry`. */
      readonly code: ErrorCode | undefined;
      /** Milliseconds that the handlers ran; undefined when none did. */
      readonly handlerMs: number | undefined;
      /** Milliseconds since the ingress received the event, by two machines' clocks. */
      readonly sinceReceivedMs: number;
      /** Milliseconds from when the queue took the job to its result. */
      readonly queueAgeMs: number;
    }
  /** An attempt ended without completing its event. */
  | {
      readonly kind: "attempt_failed";
      readonly key: EventKey;
      readonly type: string;
      readonly attempt: number;
      readonly code: ErrorCode;
      readonly message: string;
      /** True when the event is `failed` with it. */
      readonly final: boolean;
      /** False when the attempt was given back. */
      readonly counts: boolean;
    }
  | {
      readonly kind: "group_ended";
      readonly source: string;
      readonly size: number;
      /** Events whose handlers ran in it, and were undone. */
      readonly undone: number;
    }
  /** A step could not be written to the ledger; `message` has the reason. */
  | {
      readonly kind: "unrecorded";
      readonly key: EventKey;
      readonly step: "record" | "fail";
      readonly message: string;
    }
  /** A handler still runs although its transaction is gone: it ignores its signal. */
  | { readonly kind: "handler_ignored_abort"; readonly key: EventKey; readonly attempt: number };
