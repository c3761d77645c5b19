import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { failpoint, InFlight, Deadlines } from "@millrace/core";
import { rejectEarly, type RefusedRequest } from "../head-checks.ts";
import { BodyClock } from "../incoming-body.ts";
import { earlyRejection, endsConnection, type Received, type ReceiveRequest } from "../received.ts";
import type { Receiver } from "../receiver.ts";
import { readArrived, readBody } from "../request-body.ts";
import { SMALL_BODY_BYTES } from "../byte-budget.ts";

export type NodeAdapter = ReturnType<typeof createNodeAdapter>;

type Asked = [
  request: IncomingMessage,
  response: ServerResponse,
  source: string,
  askForBody?: () => void,
];

// Node calls back with a request's head before it passes on the bytes that came with it.
const HEAD_IS_PARSED = Promise.resolve();

export function createNodeAdapter(receiver: Receiver) {
  const clock = new BodyClock(receiver.limits.bodyTimeoutMs);
  const lingering = new Deadlines<Socket>(LINGER_MS, (socket) => socket.destroy());
  // A socket may have several requests in flight: they are answered in their order.
  const answering = new WeakMap<object, number>();
  const latest = new WeakMap<object, IncomingMessage>();
  const ending = new WeakSet<object>();
  const inFlight = new InFlight();
  let closing = false;

  async function handle(...given: Asked): Promise<void> {
    const [request, response] = given;
    const { socket } = request;
    inFlight.begin();
    try {
      await serve(...given);
    } catch (error) {
      receiver.notify({ kind: "unexpected", source: undefined, error });
      response.destroy();
    }
    // Its socket may have sent the next request already.
    if (latest.get(socket) === request) latest.delete(socket);
    inFlight.end();
  }

  async function serve(...[request, response, name, askForBody]: Asked): Promise<void> {
    const source = receiver.source(name);
    const { socket } = request;
    latest.set(socket, request);
    const isClosing = closing || receiver.closing;
    const rejection = isClosing ? earlyRejection("shutting_down") : rejectEarly(request, source);
    if (rejection !== undefined) return refuse(request, response, { rejection, source });
    const bytes = bytesGiven(request);
    if (bytes !== undefined && bytes.byteLength <= source.bodyBytesMax) {
      const received = await receiver.receive({ ...headOf(request), source: name, body: bytes });
      return writeResponse(response, received, { close: false });
    }
    if (bytes !== undefined || request.readableDidRead) {
      const code = bytes === undefined ? "body_already_read" : "body_too_large";
      return refuse(request, response, { rejection: earlyRejection(code), source });
    }
    const head = headOf(request);
    // Somebody else who reads the body, a middleware that counts bytes, does not wait for us.
    if (request.readableFlowing === null) await HEAD_IS_PARSED;
    const read =
      readArrived(request, source) ??
      receiver.headChecks.refuseHead(source, head) ??
      (await readBody(request, source, { clock, onBegin: askForBody }));
    if (!read.ok) return refuse(request, response, { ...read, source });
    answering.set(socket, (answering.get(socket) ?? 0) + 1);
    try {
      const received = await receiver.receive({ ...head, source: name, body: read.body });
      failpoint("ingress.before_answer");
      const isEnding = closing || receiver.closing || ending.has(socket);
      const isLast = isEnding || endsUnsigned(request, received);
      writeResponse(response, received, { close: isLast });
    } finally {
      answering.set(socket, (answering.get(socket) ?? 1) - 1);
      read.pool.release(read.bytes);
    }
  }

  function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    refusal: RefusedRequest,
  ): void {
    const { rejection } = refusal;
    receiver.headChecks.reportRefused(refusal);
    respondUnread(request, response, rejection, { close: endsConnection(rejection), lingering });
  }

  const isAnswering = (socket: object) => (answering.get(socket) ?? 0) > 0;

  return {
    /**
     * Reads, delivers and answers one request. Never throws. `askForBody` is called when the head
     * is accepted and the body has not come: `Expect: 100-continue` waits for that.
     */
    handle: (...given: Asked): void => void handle(...given),
    reject: (request: IncomingMessage, response: ServerResponse, rejection: Received): void =>
      refuse(request, response, { rejection }),
    isAnswering,
    /** True if a request of the socket came whole: it is answered, and the connection ends then. */
    endAfterAnswer: (socket: object): boolean => {
      const isWhole = isAnswering(socket) || latest.get(socket)?.complete === true;
      if (isWhole) ending.add(socket);
      return isWhole;
    },
    /** Rejects new requests. Resolves when those it has begun are answered. */
    close: async (): Promise<void> => {
      closing = true;
      await inFlight.none();
    },
  };
}

/** The exact bytes, where a platform has read them: Firebase, or a parser such as express.raw(). */
function bytesGiven(request: IncomingMessage): Uint8Array | undefined {
  for (const name of ["rawBody", "body"]) {
    const given: unknown = Reflect.get(request, name);
    if (given instanceof Uint8Array) return given;
  }
  return undefined;
}

function headOf(request: IncomingMessage): Omit<ReceiveRequest, "source" | "body"> {
  const { method = "", headers } = request;
  return { method, url: urlOf(request), headers: joinedHeaders(headers) };
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

function writeResponse(
  response: ServerResponse,
  received: Received,
  options: { close: boolean },
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(received.status, headersOf(received, options));
  response.end(received.body);
}

// Answers a request whose body is not wanted. A small body is let through, so that the connection
// can be used again, unless its sender asks first. Otherwise our side is closed, and the socket is
// destroyed after up to a second or 4 MiB is thrown away: destroying it while bytes come in would
// reset the connection, and a sender may lose the response (RFC 9112 §9.6).
function respondUnread(
  request: IncomingMessage,
  response: ServerResponse,
  received: Received,
  options: { close: boolean; lingering: Deadlines<Socket> },
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

/** Throws away what still comes, without the parser, which makes a buffer of each chunk. */
function discardRest(request: IncomingMessage, socket: Socket, lingering: Deadlines<Socket>): void {
  const deadline = lingering.add(socket);
  let discarded = 0;
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

/** A 401 ends the connection as a large body's head does, so that a stranger sees no difference. */
function endsUnsigned(request: IncomingMessage, { status }: Received): boolean {
  return status === 401 && !isSmall(request);
}

function isSmall(request: IncomingMessage): boolean {
  if (request.headers["transfer-encoding"] !== undefined) return false;
  return Number(request.headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;
}

export type ConnectRequest = IncomingMessage & { readonly body?: unknown };
export type ConnectHandler = (
  request: ConnectRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const ONE_SEGMENT = /^\/([^/?]+)(?:\?|$)/;
const TWO_SEGMENTS = /^\/([^/?]+(?:\/[^/?]+)?)(?:\?|$)/;

/**
 * Makes a handler for an Express or Connect app, to be mounted before any body parser. Mounted at
 * `/webhooks`, it takes `POST /webhooks/<source>`, and with `secrets` in the config
 * `POST /webhooks/<source>/<tenant>`; other paths go to the next handler.
 */
export function createExpressAdapter(receiver: Receiver): ConnectHandler {
  const adapter = createNodeAdapter(receiver);
  const path = receiver.hasTenants ? TWO_SEGMENTS : ONE_SEGMENT;
  return (request, response, next) => {
    const source = path.exec(request.url ?? "")?.[1];
    if (source === undefined) return next();
    const isParsed = request.body !== undefined && !(request.body instanceof Uint8Array);
    if (isParsed && !("rawBody" in request)) {
      return adapter.reject(request, response, earlyRejection("body_already_read"));
    }
    adapter.handle(request, response, source);
  };
}
