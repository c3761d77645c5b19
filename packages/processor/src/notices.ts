import type { ErrorCode, EventKey, JobResult, MacProblem, Outcome } from "@millrace/core";

/** No notice has a body, a header, or a query parameter. */
export type Notice =
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
  | { readonly kind: "conflict"; readonly key: EventKey }
  | {
      readonly kind: "finished";
      readonly key: EventKey;
      readonly result: JobResult["kind"];
      readonly outcome: Outcome | undefined;
      readonly code: ErrorCode | undefined;
      readonly handlerMs: number | undefined;
      /** Milliseconds since the ingress received the event, by two machines' clocks. */
      readonly sinceReceivedMs: number;
      readonly queueAgeMs: number;
    }
  | {
      readonly kind: "attempt_failed";
      readonly key: EventKey;
      readonly type: string;
      readonly attempt: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly final: boolean;
      readonly counts: boolean;
    }
  | {
      readonly kind: "group_ended";
      readonly source: string;
      readonly size: number;
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
