import type { IncomingMessage } from "node:http";
import type { ReceiveRequest } from "./received.ts";

/** A node:http request and its body, as a receiver takes them. */
export function toReceiveRequest(
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

// Node makes a list of this one header alone, and no request should have it.
function hasNoList(headers: NodeJS.Dict<string | string[]>): headers is NodeJS.Dict<string> {
  return headers["set-cookie"] === undefined;
}
