import { docsOf, isMillraceError, SERVER_AWAY, statusOf, type ErrorCode } from "@millrace/core";
import { isDatabaseUnavailable } from "@millrace/ledger";
import type { ErrorRequestHandler } from "express";

/** Only our own messages reach the wire; `onError` gets every error of 500 or more. */
export function answerErrors(onError: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const { code, message } = describe(error);
    if (statusOf(code) >= 500) onError(error);
    if (statusOf(code) === 503) response.set("Retry-After", "5");
    response.status(statusOf(code)).json({ error: { code, message, docs: docsOf(code) } });
  };
}

function describe(error: unknown): { code: ErrorCode; message: string } {
  if (isMillraceError(error)) {
    if (SERVER_AWAY.has(error.code)) return unavailable;
    // Other codes are not meant for the wire.
    return statusOf(error.code) === 500 ? internal : { code: error.code, message: error.message };
  }
  // BullMQ's calls of Postgres fail with errors of the driver.
  if (isDatabaseUnavailable(error)) return unavailable;
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  if (status === 413) {
    return { code: "body_too_large", message: "Cannot read the request: its body is too large" };
  }
  // Express and its parsers set a 4xx on requests that they cannot decode.
  if (typeof status === "number" && status < 500) {
    return { code: "invalid_request", message: "Cannot read the request: it is malformed" };
  }
  return internal;
}

/** The log says which of the two it is. */
const unavailable = {
  code: "unavailable",
  message: "Cannot answer: Postgres or the queue is unavailable. Try again later",
} as const;
const internal = {
  code: "internal",
  message: "Cannot answer: an unexpected error occurred",
} as const;
