import type { Principal } from "@millrace/api-contract";
import { MillraceError } from "@millrace/core";
import type { Request, RequestHandler } from "express";
import { unauthorized, type Authenticator } from "./authenticator.ts";
import { isRead } from "./browser-security.ts";

const principals = new WeakMap<Request, Principal>();

/**
 * Rejects unknown callers (401 `unauthorized`) and writes by viewers (403 `forbidden`). A browser
 * at the queues' page goes to the sign-in.
 */
export function guard(authenticator: Authenticator): RequestHandler {
  return async (request, response, next) => {
    const principal = await authenticator.identify(request, response);
    if (principal === undefined) {
      const page = pageOf(request);
      if (page === undefined) {
        throw unauthorized(response, "Cannot show this: sign in or send a token");
      }
      return response.redirect(303, `/?next=${encodeURIComponent(page).replaceAll("%2F", "/")}`);
    }
    if (principal.role !== "operator" && !isRead(request)) {
      throw new MillraceError("forbidden", "Cannot accept this write: viewers are read-only");
    }
    principals.set(request, principal);
    next();
  };
}

export const requireToken: RequestHandler = (request, _response, next) => {
  if (principalOf(request).via === "token") return next();
  throw new MillraceError("forbidden", "Cannot show this to a session: send a token");
};

export function principalOf(request: Request): Principal {
  const principal = principals.get(request);
  if (principal !== undefined) return principal;
  throw new Error("Cannot identify the user: the request did not pass the guard");
}

/** Returns undefined for a URL of another server. */
function pageOf(request: Request): string | undefined {
  if (!isRead(request) || request.headers.accept?.includes("text/html") !== true) return undefined;
  return /^\/queues(?![^/?])/i.test(request.originalUrl) ? request.originalUrl : undefined;
}
