import { MillraceError } from "@millrace/core";
import type { Request, RequestHandler } from "express";

const READS = new Set(["GET", "HEAD", "OPTIONS"]);

/** True for a method that changes nothing (RFC 9110 calls these safe). */
export const isRead = (request: Request): boolean => READS.has(request.method);

/**
 * Refuses writes that a web page of another origin could have caused: 403 `forbidden` by `Origin`
 * and `Sec-Fetch-Site`, 415 `unsupported_media_type` for a body that is not `application/json`,
 * which is what a form can send without asking. Programs that send neither header pass.
 */
export function checkWrite(): RequestHandler {
  return (request, _response, next) => {
    if (isRead(request)) return next();
    if (!isOwnOrigin(request)) {
      return next(
        new MillraceError("forbidden", "Cannot accept this write: it comes from another origin"),
      );
    }
    if (!isJsonOrEmpty(request)) {
      return next(
        new MillraceError(
          "unsupported_media_type",
          "Cannot accept this write: its body is not application/json",
        ),
      );
    }
    next();
  };
}

function isOwnOrigin(request: Request): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  const { origin } = request.headers;
  if (origin === undefined) return true;
  // Compared with Host, which was checked before, and without the scheme: a proxy may end TLS.
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
