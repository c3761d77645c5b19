import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { IngressConfig } from "@millrace/core";
import { doorRefusal, type NodeDoor } from "@millrace/intake";
import { answerClientError } from "./answer-client-error.ts";
import { hotRoute } from "./hot-route.ts";

// A load balancer that keeps connections for 60 s must not find one closed that it just chose.
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS_MAX = 10_000;

/**
 * The server of the ingress, hardened: what a stranger may hold open, send slowly or send too much
 * of has a bound here or in the door.
 */
export function createIngressServer(deps: {
  door: NodeDoor;
  app: RequestListener;
  limits: IngressConfig;
  /** Hears of each connection that was over `connectionsMax`. */
  onDrop: () => void;
}): Server {
  const { door, app, limits } = deps;
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS_MAX, limits.bodyTimeoutMs);
  const server = createServer(
    {
      headersTimeout,
      // The door's own deadline for bodies comes first, and has the better answer.
      requestTimeout: headersTimeout + limits.bodyTimeoutMs + 5_000,
      // How often node looks for the two above; its default of 30 s would add to both.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: 16_384,
      // Asked for below (RFC 9112, section 3.2): node's own answer says nothing.
      requireHostHeader: false,
    },
    (request, response) => {
      if (request.headers.host === undefined && request.httpVersion === "1.1") {
        return door.refuse(request, response, doorRefusal("malformed_request"));
      }
      const source = hotRoute(request.url ?? "");
      if (source === undefined) app(request, response);
      else door.handle(request, response, source);
    },
  );
  server.maxConnections = limits.connectionsMax;
  server.on("drop", deps.onDrop);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    door.refuse(request, response, doorRefusal("expectation_failed"));
  });
  server.on("clientError", (error, socket) => {
    answerClientError(error, socket, door.isAnswering(socket));
  });
  return server;
}
