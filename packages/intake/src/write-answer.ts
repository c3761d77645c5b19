import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Received } from "./received.ts";

const LINGER_MS = 1_000;
const LINGER_BYTES = 4 * 1024 * 1024;
const SMALL_BODY_BYTES = 65_536;

type Answer = Pick<Received, "status" | "headers" | "body">;

/** Writes an answer, head and body in one write; `close` ends the connection after it. */
export function writeAnswer(
  response: ServerResponse,
  answer: Answer,
  options: { close: boolean },
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(answer.status, headersOf(answer, options));
  response.end(answer.body);
}

/**
 * Answers a request whose body is not wanted. A small one is let pass, so that the connection can
 * be used again; of any other the rest is not read: the answer is written, our side is closed, and
 * the socket is destroyed.
 *
 * Destroying it while bytes are still coming in would reset the connection, and a sender may lose
 * the answer over that (RFC 9112 §9.6). So up to a second, or 4 MiB, of them is thrown away first.
 */
export function answerUnread(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  options: { close: boolean },
): void {
  const { socket } = response;
  if (!options.close && isSmall(request)) return writeAnswer(response, answer, options);
  // Without a socket an earlier request of the connection is still being answered.
  if (socket === null || request.complete || request.method === "HEAD") {
    return writeAnswer(response, answer, { close: true });
  }
  if (socket.destroyed || response.headersSent) return;
  response.writeHead(answer.status, headersOf(answer, { close: true }));
  // Not ended: node would destroy the socket at once.
  response.write(answer.body);
  socket.end();
  discardRest(request, socket);
}

function discardRest(request: IncomingMessage, socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  let discarded = 0;
  request.on("data", (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > LINGER_BYTES) socket.destroy();
  });
  request.once("end", () => socket.destroySoon());
  request.resume();
}

function headersOf(answer: Answer, options: { close: boolean }): Record<string, string | number> {
  const headers: Record<string, string | number> = { ...answer.headers };
  if (answer.status !== 204) headers["content-length"] = Buffer.byteLength(answer.body);
  if (options.close) headers["connection"] = "close";
  return headers;
}

function isSmall(request: IncomingMessage): boolean {
  if (request.headers["transfer-encoding"] !== undefined) return false;
  return Number(request.headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;
}
