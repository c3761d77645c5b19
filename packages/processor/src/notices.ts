import type { ErrorCode, EventKey, Outcome, Settlement } from "@millrace/core";

/**
 * What the processor tells whoever listens. It writes no log and keeps no metric itself; a notice
 * never holds a body, a header or a query's parameters.
 */
export type Notice =
  | ClaimedNotice
  | ConflictNotice
  | SettledNotice
  | AttemptFailedNotice
  | UnrecordedNotice
  | IgnoredAbortNotice;

/** An attempt begins. */
export interface ClaimedNotice {
  readonly kind: "claimed";
  readonly key: EventKey;
  readonly attempt: number;
  readonly attemptSinceRetry: number;
  /** Milliseconds from the queue's taking the job in to this claim. */
  readonly queueAgeMs: number;
}

/** A job's event is known with another body, which came first and is kept. */
export interface ConflictNotice {
  readonly kind: "conflict";
  readonly key: EventKey;
}

/** A run of a job has its settlement. */
export interface SettledNotice {
  readonly kind: "settled";
  readonly key: EventKey;
  readonly settlement: Settlement["kind"];
  /** Where the settlement is `completed`. */
  readonly outcome: Outcome | undefined;
  /** Where the settlement is `failed` or `retry`. */
  readonly code: ErrorCode | undefined;
  /** Milliseconds that the handlers ran; undefined when none did. */
  readonly handlerMs: number | undefined;
  /** Milliseconds since the ingress took the event in, by two machines' clocks. */
  readonly sinceReceivedMs: number;
  /** Milliseconds from the queue's taking the job in to its settlement. */
  readonly queueAgeMs: number;
}

/** An attempt ended without completing its event. */
export interface AttemptFailedNotice {
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

/** The ledger could not be told of something; `message` says why. */
export interface UnrecordedNotice {
  readonly kind: "unrecorded";
  readonly key: EventKey;
  readonly step: "record" | "fail";
  readonly message: string;
}

/** A handler goes on although its transaction is gone: it does not heed its signal. */
export interface IgnoredAbortNotice {
  readonly kind: "handler_ignored_abort";
  readonly key: EventKey;
  readonly attempt: number;
}
