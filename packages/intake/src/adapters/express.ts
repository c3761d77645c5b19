import type { IncomingMessage, ServerResponse } from "node:http";
import { earlyRejection } from "../received.ts";
import type { Receiver } from "../receiver.ts";
import { createNodeAdapter } from "./node.ts";

export type ConnectRequest = IncomingMessage & { readonly body?: unknown };
export type ConnectHandler = (
  request: ConnectRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const ONE_SEGMENT = /^\/([^/?]+)(?:\?|$)/;

/**
 * Makes a handler for an Express or Connect app, to be mounted before any body parser. Mounted at
 * `/webhooks`, it takes `POST /webhooks/<source>`; other paths go to the next handler.
 */
export function createExpressAdapter(receiver: Receiver): ConnectHandler {
  const adapter = createNodeAdapter(receiver);
  return (request, response, next) => {
    const source = ONE_SEGMENT.exec(request.url ?? "")?.[1];
    if (source === undefined) return next();
    const isParsed = request.body !== undefined && !(request.body instanceof Uint8Array);
    if (isParsed && !("rawBody" in request)) {
      return adapter.reject(request, response, earlyRejection("body_already_read"));
    }
    adapter.handle(request, response, source);
  };
}
