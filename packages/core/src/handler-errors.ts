const PERMANENT = Symbol.for("millrace.permanent-error");
const RETRY_LATER = Symbol.for("millrace.retry-later");

/** Throw it from a handler when no retry will help: the event fails at once. */
export class PermanentError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "PermanentError";
    Object.defineProperty(this, PERMANENT, { value: true });
  }
}

/**
 * Throw it from a handler to be run again after `afterMs` milliseconds instead of the source's
 * backoff. It is an attempt like any other, so it ends too.
 */
export class RetryLater extends Error {
  readonly afterMs: number;

  constructor(options: { afterMs: number; reason?: string; cause?: unknown }) {
    super(options.reason ?? `Retry in ${options.afterMs} ms`, { cause: options.cause });
    this.name = "RetryLater";
    this.afterMs = Math.max(0, options.afterMs);
    Object.defineProperty(this, RETRY_LATER, { value: true });
  }
}

// By brand, not by class: a user's bundle may hold another copy of this module.

export function isPermanentError(error: unknown): error is PermanentError {
  return typeof error === "object" && error !== null && PERMANENT in error;
}

export function isRetryLater(error: unknown): error is RetryLater {
  return typeof error === "object" && error !== null && RETRY_LATER in error;
}
