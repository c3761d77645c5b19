import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Deadlines } from "@millrace/core";
import { SMALL_BODY_BYTES } from "../byte-budget.ts";
import type { Received } from "../received.ts";

const LINGER_MS = 1_000;
const LINGER_BYTES = 4 * 1024 * 1024;

/** Connections whose rest is thrown away, until they have had their time. */
export type Lingering = Deadlines<Socket>;

export function createLingering(): Lingering {
  return new Deadlines(LINGER_MS, (socket) => socket.destroy());
}

/** Writes a response, head and body in one write; `close` ends the connection after it. */
export function writeResponse(
  response: ServerResponse,
  received: Received,
  options: { close: boolean },
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(received.status, headersOf(received, options));
  response.end(received.body);
}

/**
 * Answers a request whose body is not wanted. A small body is let through, so that the connection
 * can be used again, unless its sender asks first and may never send it. The rest of any other body
 * is not read: the response is written, our side is closed, and the socket is destroyed.
 *
 * Destroying it while bytes are still coming in would reset the connection, and a sender may lose
 * the response over that (RFC 9112 §9.6). So up to a second, or 4 MiB, of them is thrown away
 * first.
 */
export function respondUnread(
  request: IncomingMessage,
  response: ServerResponse,
  received: Received,
  options: { close: boolean; lingering: Lingering },
): void {
  const { socket } = response;
  const isWaiting = request.headers.expect !== undefined;
  if (!options.close && isSmall(request) && !isWaiting) {
    return writeResponse(response, received, options);
  }
  // Without a socket an earlier request of the connection is still being answered.
  if (socket === null || request.complete || request.method === "HEAD") {
    return writeResponse(response, received, { close: true });
  }
  if (socket.destroyed || response.headersSent) return;
  response.writeHead(received.status, headersOf(received, { close: true }));
  // Not ended: node would destroy the socket at once.
  response.write(received.body);
  socket.end();
  discardRest(request, socket, options.lingering);
}

/**
 * Throws away what still comes, without the parser: it would make a buffer of each chunk, and there
 * may be one for each byte.
 */
function discardRest(request: IncomingMessage, socket: Socket, lingering: Lingering): void {
  const deadline = lingering.add(socket);
  let discarded = 0;
  // The bytes that the parser has read already.
  request.on("data", () => {}).resume();
  socket
    .removeAllListeners("data")
    .on("data", (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > LINGER_BYTES) socket.destroy();
    })
    .on("end", () => socket.destroySoon())
    .once("close", () => lingering.delete(deadline))
    .resume();
}

function headersOf(
  received: Received,
  options: { close: boolean },
): Record<string, string | number> {
  const headers: Record<string, string | number> = { ...received.headers };
  if (received.status !== 204) headers["content-length"] = Buffer.byteLength(received.body);
  if (options.close) headers["connection"] = "close";
  return headers;
}

/**
 * True when a connection ends with this answer although all was read. It ends with a signature that
 * is refused by the head alone, if the body is large; so that a stranger sees no difference, it
 * ends with every one.
 */
export function endsUnsigned(request: IncomingMessage, { status }: Received): boolean {
  return status === 401 && !isSmall(request);
}

function isSmall(request: IncomingMessage): boolean {
  if (request.headers["transfer-encoding"] !== undefined) return false;
  return Number(request.headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;
}
