import type { ErrorCode } from "./error-codes.ts";

const BRAND = Symbol.for("millrace.error");

export class MillraceError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "MillraceError";
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

export function isMillraceError(error: unknown): error is MillraceError {
  return error instanceof Error && BRAND in error;
}

export function hasCode(error: unknown, code: ErrorCode): error is MillraceError {
  return isMillraceError(error) && error.code === code;
}

/** For `catch`: throws an error with one of the codes, and lets any other pass. */
export function throwIf(...codes: readonly ErrorCode[]): (error: unknown) => void {
  return (error) => {
    if (codes.some((code) => hasCode(error, code))) throw error;
  };
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Node leaves the message empty when every address of a host refused. */
export function errorText(thrown: unknown): string {
  const error = asError(thrown);
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return error.message === "" && first instanceof Error ? first.message : error.message;
}

declare const MILLRACE_REPOSITORY: string | undefined;

/** The heading of a code on the page of errors: a path, until package.json names the repository. */
export function docsOf(code: ErrorCode): string {
  const root = typeof MILLRACE_REPOSITORY === "string" ? `${MILLRACE_REPOSITORY}/blob/main/` : "";
  return `${root}docs/errors.md#${code}`;
}

export const errorBody = (code: ErrorCode, message: string) => ({ error: { code, message } });
