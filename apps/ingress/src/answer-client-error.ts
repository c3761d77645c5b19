import type { Duplex } from "node:stream";
import { errorBody, statusOf } from "@millrace/core";

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/**
 * Answers what node could not read as a request, and ends the connection. `isAnswering` says that
 * an earlier request of the connection still waits for its answer: this one must not be taken for
 * it, so the connection is only ended.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  isAnswering: boolean,
): void {
  if (!socket.writable || error.code === "ECONNRESET" || error.code === "EPIPE" || isAnswering) {
    socket.destroy();
    return;
  }
  const code = codeOf(error);
  const status = statusOf(code);
  const body = JSON.stringify(errorBody(code, MESSAGES[code]));
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

const MESSAGES = {
  headers_too_large: "Cannot read the request: its headers are larger than 16 kB",
  request_timeout: "Cannot read the request: it did not arrive in time",
  malformed_request: "Cannot read the request: it is not HTTP/1.1",
} as const;

function codeOf(error: NodeJS.ErrnoException): keyof typeof MESSAGES {
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  return "malformed_request";
}
