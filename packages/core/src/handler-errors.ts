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

/** When the handler is to run again, and why not now. */
export type RetryLaterOptions = {
  /** People see it in the ledger and the logs. */
  reason?: string | undefined;
  cause?: unknown;
} & (
  | { /** Milliseconds from now. */ afterMs: number; until?: undefined }
  | { /** The time of it. */ until: Date; afterMs?: undefined }
);

interface AnswerHead {
  readonly status: number;
  readonly headers: { get(name: string): unknown };
}

/**
 * Throw it from a handler that has to wait for something. The event stays pending and its handler
 * runs again, after `afterMs` milliseconds or at the time `until`, a second later at the earliest.
 * It uses up no attempt. An event that has waited for longer than `waitMaxMs` of its source fails
 * (`waited_too_long`). Without a valid number or date it waits 60 seconds.
 */
export class RetryLater extends Error {
  /** Milliseconds to wait. */
  readonly afterMs: number;

  /** @throws TypeError for anything but an object: a number alone would be read as nothing. */
  constructor(options: RetryLaterOptions) {
    if (typeof options !== "object" || options === null) {
      throw new TypeError(
        "Cannot make a RetryLater: write new RetryLater({ afterMs: 60_000 }) or new RetryLater({ until: date })",
      );
    }
    const { afterMs, until, reason, cause } = options;
    super(reason ?? "The handler asked to wait", { cause });
    this.name = "RetryLater";
    this.afterMs = waitOf(until === undefined ? afterMs : new Date(until).getTime() - Date.now());
    Object.defineProperty(this, RETRY_LATER, { value: true });
  }

  /**
   * Waits as long as another system asks for, such as with an answer of 429 or 503: `Retry-After`
   * in seconds or as a date (RFC 9110, 10.2.3), at most a day, 60 seconds without one. Never
   * throws.
   */
  static fromResponse(
    response: AnswerHead,
    options: { reason?: string | undefined; cause?: unknown } = {},
  ): RetryLater {
    const { status, afterMs } = readAnswer(response);
    const { reason = `The other system answers ${status}`, cause } = options;
    return new RetryLater({ afterMs, reason, cause });
  }
}

// By brand, not by class: a user's bundle may hold another copy of this module.

export function isPermanentError(error: unknown): error is PermanentError {
  return typeof error === "object" && error !== null && PERMANENT in error;
}

export function isRetryLater(error: unknown): error is RetryLater {
  return typeof error === "object" && error !== null && RETRY_LATER in error;
}

const DEFAULT_WAIT_MS = 60_000;
const RETRY_AFTER_MS_MAX = 86_400_000;

export function waitOf(afterMs: unknown): number {
  if (typeof afterMs !== "number" || Number.isNaN(afterMs)) return DEFAULT_WAIT_MS;
  return Math.max(0, afterMs);
}

function readAnswer(response: AnswerHead): { status: string; afterMs: number } {
  try {
    const { status, headers } = response;
    const afterMs = readRetryAfter(headers.get("retry-after"));
    return { status: String(status), afterMs: Math.min(waitOf(afterMs), RETRY_AFTER_MS_MAX) };
  } catch {
    // Something else than an answer was handed in.
    return { status: "nothing that can be read", afterMs: DEFAULT_WAIT_MS };
  }
}

const SECONDS = /^\d+(\.\d+)?$/;
// Date.parse accepts much that is not a date. The oldest of the three forms has no zone.
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d(?<zone> GMT)?$/;

function readRetryAfter(value: unknown): number {
  const text = typeof value === "string" ? value.trim() : String(value);
  if (SECONDS.test(text)) return Number(text) * 1_000;
  const date = HTTP_DATE.exec(text);
  if (date === null) return Number.NaN;
  return Date.parse(date.groups?.["zone"] === undefined ? `${text} GMT` : text) - Date.now();
}
