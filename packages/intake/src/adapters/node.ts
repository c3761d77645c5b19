import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Deadlines, failpoint } from "@millrace/core";
import { InFlight } from "../in-flight.ts";
import { earlyRejection, endsConnection, type Received, type ReceiveRequest } from "../received.ts";
import type { Receiver } from "../receiver.ts";
import { readBody, rejectEarly } from "../request-body.ts";

/** Passes node:http requests to a receiver. */
export interface NodeAdapter {
  /** Reads, delivers and answers one request. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse, source: string): void;
  /** Answers a request whose body is not read. */
  reject(request: IncomingMessage, response: ServerResponse, rejection: Received): void;
  /** Whether a request of this socket was read to its end and still waits for its response. */
  isAnswering(socket: object): boolean;
  /** Rejects new requests. Resolves when those it has begun are answered. */
  close(): Promise<void>;
}

/**
 * Makes an adapter for node:http. What can be rejected is rejected before the body is read. Limits and
 * deadlines come from the receiver's config.
 */
export function createNodeAdapter(receiver: Receiver): NodeAdapter {
  const { budget } = receiver;
  const deadlines = new Deadlines<() => void>(receiver.limits.bodyTimeoutMs, (onLate) => onLate());
  // A socket may have several requests in flight: they are answered in their order.
  const answering = new WeakMap<object, number>();
  const inFlight = new InFlight();
  let closing = false;

  async function handle(request: IncomingMessage, response: ServerResponse, source: string) {
    inFlight.begin();
    try {
      await serve(request, response, source);
    } catch (error) {
      receiver.notify({ kind: "unexpected", source: undefined, error });
      response.destroy();
    }
    inFlight.end();
  }

  async function serve(request: IncomingMessage, response: ServerResponse, name: string) {
    const source = receiver.source(name);
    const isClosing = closing || receiver.closing;
    const rejection = isClosing
      ? earlyRejection("shutting_down")
      : rejectEarly(request, source, budget);
    if (rejection !== undefined) return reject(request, response, rejection, source && name);
    const bytesMax = source?.bodyBytesMax ?? 0;
    const read = await readBody(request, { bytesMax, deadlines, budget });
    if (!read.ok) return reject(request, response, earlyRejection(read.code), name);
    const { socket } = request;
    answering.set(socket, (answering.get(socket) ?? 0) + 1);
    try {
      const received = await receiver.receive(toReceiveRequest(request, name, read.body));
      failpoint("ingress.before_answer");
      writeResponse(response, received, { close: closing || receiver.closing });
    } finally {
      answering.set(socket, (answering.get(socket) ?? 1) - 1);
      budget.release(read.body.length);
    }
  }

  function reject(
    request: IncomingMessage,
    response: ServerResponse,
    rejection: Received,
    source?: string,
  ): void {
    const { outcome, code } = rejection;
    receiver.notify({ kind: "answered", source, outcome, code, durationMs: 0 });
    respondUnread(request, response, rejection, { close: endsConnection(rejection) });
  }

  async function close(): Promise<void> {
    closing = true;
    await inFlight.none();
  }

  return {
    handle: (request, response, source) => void handle(request, response, source),
    reject,
    isAnswering: (socket) => (answering.get(socket) ?? 0) > 0,
    close,
  };
}

/** A node:http request and its body, as a receiver takes them. */
function toReceiveRequest(
  request: IncomingMessage,
  source: string,
  body: Uint8Array,
): ReceiveRequest {
  return {
    source,
    method: request.method ?? "",
    url: urlOf(request),
    headers: joinedHeaders(request.headers),
    body,
  };
}

// Express takes the mount's path off `url`; some providers sign the whole of it.
function urlOf(request: IncomingMessage): string {
  const original = "originalUrl" in request ? request.originalUrl : undefined;
  return typeof original === "string" ? original : (request.url ?? "");
}

function joinedHeaders(headers: NodeJS.Dict<string | string[]>): ReceiveRequest["headers"] {
  if (hasNoList(headers)) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value?.toString()]),
  );
}

// Node makes a list of this header only, and no request should have it.
function hasNoList(headers: NodeJS.Dict<string | string[]>): headers is NodeJS.Dict<string> {
  return headers["set-cookie"] === undefined;
}

const LINGER_MS = 1_000;
const LINGER_BYTES = 4 * 1024 * 1024;
const SMALL_BODY_BYTES = 65_536;

/** Writes a response, head and body in one write; `close` ends the connection after it. */
function writeResponse(
  response: ServerResponse,
  received: Received,
  options: { close: boolean },
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(received.status, headersOf(received, options));
  response.end(received.body);
}

/**
 * Answers a request whose body is not wanted. A small body is let through, so that the connection can
 * be used again. The rest of any other body is not read: the response is written, our side is closed,
 * and the socket is destroyed.
 *
 * Destroying it while bytes are still coming in would reset the connection, and a sender may lose
 * the response over that (RFC 9112 §9.6). So up to a second, or 4 MiB, of them is thrown away first.
 */
function respondUnread(
  request: IncomingMessage,
  response: ServerResponse,
  received: Received,
  options: { close: boolean },
): void {
  const { socket } = response;
  if (!options.close && isSmall(request)) return writeResponse(response, received, options);
  // Without a socket an earlier request of the connection is still being answered.
  if (socket === null || request.complete || request.method === "HEAD") {
    return writeResponse(response, received, { close: true });
  }
  if (socket.destroyed || response.headersSent) return;
  response.writeHead(received.status, headersOf(received, { close: true }));
  // Not ended: node would destroy the socket at once.
  response.write(received.body);
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

function headersOf(
  received: Received,
  options: { close: boolean },
): Record<string, string | number> {
  const headers: Record<string, string | number> = { ...received.headers };
  if (received.status !== 204) headers["content-length"] = Buffer.byteLength(received.body);
  if (options.close) headers["connection"] = "close";
  return headers;
}

function isSmall(request: IncomingMessage): boolean {
  if (request.headers["transfer-encoding"] !== undefined) return false;
  return Number(request.headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;
}
