import type { ErrorCode } from "./error-codes.ts";

const BRAND = Symbol.for("millrace.error");

/**
 * The one error that Millrace throws: a stable code, a message that is safe to show (never a
 * secret, a body or a query's parameters), and the cause.
 */
export class MillraceError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "MillraceError";
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** True for a MillraceError, also for one of another copy of this package. */
export function isMillraceError(error: unknown): error is MillraceError {
  return error instanceof Error && BRAND in error;
}

/** Returns a thrown value as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The body of every error that goes over HTTP. */
export function errorBody(
  code: ErrorCode,
  message: string,
): { error: { code: string; message: string } } {
  return { error: { code, message } };
}
