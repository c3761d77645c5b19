import type { IncomingMessage, ServerResponse } from "node:http";
import type { Receiver } from "./create-receiver.ts";
import { doorRefusal } from "./door-refusals.ts";
import { createNodeDoor } from "./node-door.ts";

/** A request as Connect and Express hand it on. */
export type ConnectRequest = IncomingMessage & { readonly body?: unknown };
export type ConnectHandler = (
  request: ConnectRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const ONE_SEGMENT = /^\/([^/?]+)(?:\?|$)/;

/**
 * Mounts a receiver in an Express or Connect app of one's own, before any body parser:
 * `app.use("/webhooks", millraceRouter(receiver))` takes `POST /webhooks/<source>`. Other paths go
 * on to the next handler.
 */
export function millraceRouter(receiver: Receiver): ConnectHandler {
  const door = createNodeDoor(receiver);
  return (request, response, next) => {
    const source = ONE_SEGMENT.exec(request.url ?? "")?.[1];
    if (source === undefined) return next();
    if (request.body !== undefined || request.readableDidRead) {
      return door.refuse(request, response, doorRefusal("body_already_read"));
    }
    door.handle(request, response, source);
  };
}
