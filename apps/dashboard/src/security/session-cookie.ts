import type { CookieOptions, Request, Response } from "express";
import { SESSION_SECONDS } from "./sessions.ts";

const PLAIN = "millrace_session";
/** Over TLS. A browser lets no sibling host and no plain page set a name that begins so (RFC 6265bis). */
const SECURE = "__Host-millrace_session";

/**
 * The session that a browser sends. Of two cookies of one name, one was planted by somebody else, and
 * which one cannot be told: neither counts.
 */
export function readSessionCookie(request: Request): string | undefined {
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  for (const name of [SECURE, PLAIN]) {
    const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
    if (found.length > 0) {
      return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
    }
  }
  return undefined;
}

/** Gives the browser a session. It is `Secure` when the page's own origin is https: a proxy may end TLS. */
export function setSessionCookie(request: Request, response: Response, session: string): void {
  const secure = request.headers.origin?.toLowerCase().startsWith("https:") === true;
  const maxAge = SESSION_SECONDS * 1_000;
  response.cookie(secure ? SECURE : PLAIN, session, { ...ALWAYS, secure, maxAge });
}

/** Makes the browser forget its session. */
export function clearSessionCookie(response: Response): void {
  response.clearCookie(PLAIN, ALWAYS);
  response.clearCookie(SECURE, { ...ALWAYS, secure: true });
}

const ALWAYS: CookieOptions = { httpOnly: true, sameSite: "strict", path: "/" };
