import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { errorBody, statusOf, type IngressConfig } from "@millrace/core";
import { earlyRejection, type NodeAdapter } from "@millrace/intake";

// A load balancer that keeps connections for 60 s must not find one closed that it just chose.
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS_MAX = 10_000;

/**
 * The hardened HTTP server of the ingress: what a stranger can hold open, send slowly or send too much
 * of has a limit here or in the adapter.
 */
export function createIngressServer(deps: {
  adapter: NodeAdapter;
  app: RequestListener;
  limits: IngressConfig;
  /** Called for each connection above `connectionsMax`. */
  onDrop: () => void;
  /** Whether other processes of a cluster listen on the same port. */
  sharesPort?: boolean;
}): Server {
  const { adapter, app, limits } = deps;
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS_MAX, limits.bodyTimeoutMs);
  const server = createServer(
    {
      headersTimeout,
      // The adapter's own deadline for bodies comes first, and has the better response.
      requestTimeout: headersTimeout + limits.bodyTimeoutMs + 5_000,
      // How often node checks the two above; its default of 30 s would add to both.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: 16_384,
      // Checked below (RFC 9112, section 3.2): node's own response says nothing.
      requireHostHeader: false,
    },
    (request, response) => {
      if (request.headers.host === undefined && request.httpVersion === "1.1") {
        return adapter.reject(request, response, earlyRejection("malformed_request"));
      }
      const source = hotRoute(request.url ?? "");
      if (source === undefined) app(request, response);
      else adapter.handle(request, response, source);
    },
  );
  if (deps.sharesPort === true) dropExcess(server, limits.connectionsMax, deps.onDrop);
  else {
    server.maxConnections = limits.connectionsMax;
    server.on("drop", deps.onDrop);
  }
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    adapter.reject(request, response, earlyRejection("expectation_failed"));
  });
  server.on("clientError", (error, socket) => {
    answerClientError(error, socket, adapter.isAnswering(socket));
  });
  return server;
}

/**
 * What `maxConnections` does, for a server in a cluster: there Node gives a connection that one process refuses to
 * the next, in turn and without end while all of them are full.
 */
function dropExcess(server: Server, connectionsMax: number, onDrop: () => void): void {
  let open = 0;
  server.on("connection", (socket) => {
    open += 1;
    socket.once("close", () => (open -= 1));
    if (open <= connectionsMax) return;
    onDrop();
    socket.destroy();
  });
}

const PREFIX = "/webhooks/";

/**
 * The source that a request line names, for paths under `/webhooks/`; undefined for all others.
 * Nothing is decoded or folded: a name with an encoded character, a capital or a slash after it is
 * not configured.
 *
 * @internal
 */
export function hotRoute(url: string): string | undefined {
  if (!url.startsWith(PREFIX)) return undefined;
  const query = url.indexOf("?", PREFIX.length);
  return query === -1 ? url.slice(PREFIX.length) : url.slice(PREFIX.length, query);
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/**
 * Answers what node could not read as a request, and ends the connection. `isAnswering` is true when
 * an earlier request of the connection still waits for its response: this one must not be taken for
 * it, so the connection is only ended.
 */
function answerClientError(
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
