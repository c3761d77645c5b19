import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorBody, statusOf, type IngressConfig, LinkedList, type Linked } from "@millrace/core";
import { earlyRejection, type NodeAdapter } from "@millrace/intake";

// A load balancer that keeps connections for 60 s must not find one closed that it just chose.
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS_MAX = 10_000;
const HEAD_BYTES_MAX = 16_384;

/** Connections, slow and large requests have limits here or in the adapter. */
export function createIngressServer(deps: {
  adapter: NodeAdapter;
  app: RequestListener;
  limits: IngressConfig;
  onDrop: () => void;
  onIdleClosed: () => void;
}): Server {
  const { adapter, app, limits } = deps;
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS_MAX, limits.bodyTimeoutMs);
  const server = createServer(
    {
      headersTimeout,
      // The adapter's own deadline for bodies comes first, and has the better response.
      requestTimeout: headersTimeout + limits.bodyTimeoutMs + 5_000,
      // Node's interval for both checks; its default of 30 s would add to both.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEAD_BYTES_MAX,
      // Checked below (RFC 9112, section 3.2): node's own response says nothing.
      requireHostHeader: false,
    },
    (request, response) => serve(request, response),
  );
  // Otherwise node drops headers after the 2,000th, and they are not counted below.
  server.maxHeadersCount = 0;

  function serve(request: IncomingMessage, response: ServerResponse, askForBody?: () => void) {
    const problem = problemOfHead(request);
    if (problem !== undefined) {
      return adapter.reject(request, response, earlyRejection(problem));
    }
    const source = hotRoute(request.url ?? "");
    if (source === undefined) app(request, response);
    else adapter.handle(request, response, source, askForBody);
  }

  limitConnections(server, deps);
  // Without a listener, node asks for the body before anybody has checked the head.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response, () => response.writeContinue());
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    adapter.reject(request, response, earlyRejection("expectation_failed"));
  });
  server.on("clientError", (error, socket) => {
    answerClientError(error, socket, adapter);
  });
  return server;
}

/** Many tiny headers can exceed `maxHeaderSize`; of several hosts, a proxy can mean the last. */
function problemOfHead({
  method = "",
  url = "",
  httpVersion,
  rawHeaders,
}: IncomingMessage): "malformed_request" | "headers_too_large" | undefined {
  let bytes = `${method} ${url} HTTP/1.1\r\n\r\n`.length;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    bytes += name.length + (rawHeaders[at + 1] ?? "").length + ": \r\n".length;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (bytes > HEAD_BYTES_MAX) return "headers_too_large";
  return hosts > 1 || (hosts === 0 && httpVersion === "1.1") ? "malformed_request" : undefined;
}

const IDLE_INTERVAL_MS = 1_000;

// Keeps idle connections from blocking new ones: above half of `connectionsMax` idle ones are
// closed, at most once a second; for each connection above `connectionsMax`, the oldest without a
// response in progress. Node's own `maxConnections` closes the new connection, which in a cluster
// goes to the next process, without end while all are full.
function limitConnections(
  server: Server,
  { adapter, limits, onDrop, onIdleClosed }: Parameters<typeof createIngressServer>[0],
): void {
  const open = new OpenConnections();
  const isAnswering = (socket: Socket) => adapter.isAnswering(socket);
  let closedMs = -IDLE_INTERVAL_MS;
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    if (open.count > limits.connectionsMax) {
      onDrop();
      open.endOldest(isAnswering);
    }
    if (open.count <= limits.connectionsMax / 2) return;
    if (performance.now() - closedMs < IDLE_INTERVAL_MS) return;
    closedMs = performance.now();
    open.endIdle();
    onIdleClosed();
  });
}

const PREFIX = "/webhooks/";

/**
 * The source that a request line names, for paths under `/webhooks/`. Nothing is decoded or
 * folded: a name with an encoded character, a capital or a slash after it is not configured.
 * @internal
 */
export function hotRoute(url: string): string | undefined {
  if (!url.startsWith(PREFIX)) return undefined;
  const query = url.indexOf("?", PREFIX.length);
  return query === -1 ? url.slice(PREFIX.length) : url.slice(PREFIX.length, query);
}

/** No later byte counts: a sender must not read that it was wrong while its event is stored. */
function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  adapter: NodeAdapter,
): void {
  if (!socket.writable || error.code === "ECONNRESET" || error.code === "EPIPE") {
    socket.destroy();
    return;
  }
  if (adapter.endAfterAnswer(socket)) return;
  const code = codeOf(error);
  const status = statusOf(code);
  const body = JSON.stringify(errorBody(code, MESSAGES[code]));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
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

interface Open extends Linked<Open> {
  readonly socket: Socket;
}

/** The most connections with a response in progress that are passed over. */
const ANSWERING_MAX = 64;

/** @internal */
export class OpenConnections {
  count = 0;
  readonly #open = new LinkedList<Open>();

  add(socket: Socket): void {
    const open: Open = { socket, before: undefined, after: undefined };
    this.#append(open);
    socket.once("close", () => this.#remove(open));
  }

  /** A connection that is passed over counts as new. When many were, the newest is ended. */
  endOldest(isAnswering: (socket: Socket) => boolean): void {
    const newest = this.#open.last;
    for (let looks = 0; looks < ANSWERING_MAX; looks += 1) {
      const oldest = this.#open.first;
      if (oldest === undefined || oldest === newest) break;
      this.#remove(oldest);
      if (!isAnswering(oldest.socket)) return void oldest.socket.destroy();
      this.#append(oldest);
    }
    if (newest === undefined) return;
    this.#remove(newest);
    newest.socket.destroy();
  }

  /** `closeIdleConnections` of Node 26 also ends connections that have not had a first request. */
  endIdle(): void {
    for (let open = this.#open.first; open !== undefined; open = open.after) {
      const { socket } = open;
      // Node's own mark of a request that has come and has no response yet.
      const hasRequest = "_httpMessage" in socket && socket._httpMessage !== null;
      if (socket.bytesWritten > 0 && !hasRequest) socket.destroy();
    }
  }

  #append(open: Open): void {
    this.count += 1;
    this.#open.append(open);
  }

  #remove(open: Open): void {
    if (!this.#open.has(open)) return;
    this.#open.remove(open);
    this.count -= 1;
  }
}
