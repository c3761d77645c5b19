import { createHash, timingSafeEqual } from "node:crypto";
import { MillraceError } from "@millrace/core";
import type { RequestHandler } from "express";
import { createFailureLimit } from "./failure-limit.ts";

/** The one user that may look at the dashboard. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/**
 * HTTP Basic: 401 `unauthorized` without the right user and password, compared in constant time.
 * An address that was wrong ten times in a minute is answered 429 `too_many_failures` for the rest
 * of it, whatever it sends.
 */
export function basicAuth(credentials: Credentials): RequestHandler {
  const expected = digest(`${credentials.user}:${credentials.password}`);
  const failures = createFailureLimit({ failuresMax: 10, windowMs: 60_000 });
  return (request, response, next) => {
    const address = request.socket.remoteAddress ?? "";
    const waitMs = failures.waitMs(address);
    if (waitMs > 0) {
      response.set("Retry-After", String(Math.ceil(waitMs / 1_000)));
      return next(
        new MillraceError("too_many_failures", "Cannot sign in: too many wrong passwords of late"),
      );
    }
    const given = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (given !== undefined && timingSafeEqual(digest(Buffer.from(given, "base64")), expected)) {
      return next();
    }
    // A browser's first request carries nothing, and is no failure.
    if (request.headers.authorization !== undefined) failures.count(address);
    response.set("WWW-Authenticate", 'Basic realm="Millrace", charset="UTF-8"');
    next(new MillraceError("unauthorized", "Cannot show this: user and password are wanted"));
  };
}

// Digests have equal lengths, so the comparison tells nothing of the password's.
const digest = (text: string | Uint8Array): Buffer => createHash("sha256").update(text).digest();
