import { isIP } from "node:net";
import { MillraceError } from "@millrace/core";
import type { Request, RequestHandler } from "express";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const WILDCARDS = new Set(["0.0.0.0", "::"]);

/**
 * Refuses requests of another `Host` with 403 `forbidden`, against DNS rebinding. A server that
 * listens on every address also takes its addresses: rebinding needs a name.
 */
export function checkHost(host: string, hosts: readonly string[] = []): RequestHandler {
  const inUrl = isIP(host) === 6 ? `[${host}]` : host;
  const known = new Set([...LOOPBACK, ...[inUrl, ...hosts].map((name) => name.toLowerCase())]);
  const takesAddresses = WILDCARDS.has(host);
  return (request, _response, next) => {
    const asked = HOST.exec(request.headers.host ?? "")?.[1]?.toLowerCase() ?? "";
    const isAddress = isIP(asked.replace(/^\[|\]$/g, "")) !== 0;
    if (known.has(asked) || (takesAddresses && isAddress)) return next();
    throw new MillraceError(
      "forbidden",
      "Cannot serve this request: its Host is not this server's",
    );
  };
}

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]/@\s]+)(?::\d{1,5})?$/i;

const READS = new Set(["GET", "HEAD", "OPTIONS"]);

/** The safe methods of RFC 9110. */
export const isRead = (request: Request): boolean => READS.has(request.method);

/**
 * Refuses writes of another origin: 403 `forbidden` by `Origin` and `Sec-Fetch-Site`, and 415
 * `unsupported_media_type` for the body of a form. Programs that send neither header pass.
 */
export const checkWrite: RequestHandler = (request, _response, next) => {
  if (isRead(request)) return next();
  if (!isOwnOrigin(request)) {
    throw new MillraceError("forbidden", "Cannot accept this write: it comes from another origin");
  }
  if (!isJsonOrEmpty(request)) {
    const message = "Cannot accept this write: its body is not application/json";
    throw new MillraceError("unsupported_media_type", message);
  }
  next();
};

function isOwnOrigin(request: Request): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  const { origin } = request.headers;
  if (origin === undefined) return true;
  // `Host` was checked before. The scheme is not compared: a proxy may end TLS.
  const host = /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
  return host !== undefined && host.toLowerCase() === request.headers.host?.toLowerCase();
}

function isJsonOrEmpty(request: Request): boolean {
  const type = request.headers["content-type"];
  const length = request.headers["content-length"];
  const hasBody =
    request.headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
  if (type === undefined) return !hasBody;
  return /^application\/json\s*(;|$)/i.test(type.trim());
}

/** For answers that are no page, in case a browser shows them as one. */
export const OWN_CSP =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The ledger's page asks this server alone. */
export const PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** bull-board sets styles of its own. */
export const BOARD_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/** With `no-referrer`, a browser's own writes would carry `Origin: null`. */
export function securityHeaders(csp: string): RequestHandler {
  return (_request, response, next) => {
    response.set({
      "Content-Security-Policy": csp,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cache-Control": "no-store",
    });
    next();
  };
}
