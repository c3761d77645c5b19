import type { ErrorCode, EventKey, JobResult, MacProblem, Outcome } from "@millrace/core";

/** No notice has a body, a header, or a query parameter. */
export type Notice =
  | ({ readonly key: EventKey } & EventNotice)
  | {
      readonly kind: "group_ended";
      readonly source: string;
      readonly size: number;
      readonly undone: number;
    };

type EventNotice =
  | {
      readonly kind: "claimed";
      readonly attempt: number;
      readonly attemptSinceRetry: number;
      /** Milliseconds from when the queue took the job to this claim. */
      readonly queueAgeMs: number;
    }
  /** A job has no valid MAC. It was refused; or it ran, with what the ledger has. */
  | { readonly kind: "mac_invalid"; readonly mac: MacProblem; readonly refused: boolean }
  | { readonly kind: "conflict" }
  | {
      readonly kind: "finished";
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
      readonly type: string;
      readonly attempt: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly final: boolean;
      readonly counts: boolean;
    }
  /** A step could not be written to the ledger; `message` has the reason. */
  | { readonly kind: "unrecorded"; readonly step: "record" | "fail"; readonly message: string }
  /** A handler still runs although its transaction is gone: it ignores its signal. */
  | { readonly kind: "handler_ignored_abort"; readonly attempt: number };
