import type { Principal } from "@millrace/api-contract";
import { MillraceError } from "@millrace/core";
import type { Request, Response } from "express";
import { TOKEN_LENGTH_MIN, type Credentials, type Token } from "./credentials.ts";
import { createFailureLimit, type FailureLimit } from "./failure-limit.ts";
import { createPasswordCheck, createTokenCheck } from "./secrets.ts";
import { createSessions, readSessionCookie } from "./sessions.ts";

/** Knows everybody who may come in. */
export interface Authenticator {
  /**
   * Who sent a request, by its token or its session; undefined for a stranger.
   * @throws `unauthorized` for a wrong token; `too_many_failures` after ten of them in a minute, where
   * a token is short enough to guess.
   */
  identify(request: Request, response: Response): Principal | undefined;
  /**
   * Checks a user and password, and gives a session for them.
   * @throws `unauthorized`, `too_many_failures` after ten wrong ones in a minute.
   */
  signIn(
    request: Request,
    response: Response,
    given: { user: string; password: string },
  ): { readonly session: string; readonly principal: Principal };
}

const NOBODY: Credentials = { accounts: [], tokens: [] };
const LOCAL: Principal = { user: null, role: "operator", via: "local" };

/**
 * Creates the authenticator. Without credentials everyone is an operator; the dashboard then listens on
 * this machine only.
 *
 * Only what can be guessed is limited. After ten wrong passwords an address cannot sign in for the rest
 * of the minute, and after ten wrong tokens it cannot use a token shorter than 16 characters. A session
 * or a longer token is always accepted: behind a proxy all clients share one address, and an old
 * script's failures must not lock out the others.
 */
export function createAuthenticator(
  credentials: Credentials | undefined,
  options: { readonly nowMs?: () => number } = {},
): Authenticator {
  const { accounts, tokens } = credentials ?? NOBODY;
  const clock = options.nowMs === undefined ? {} : { nowMs: options.nowMs };
  const checkPassword = createPasswordCheck(accounts);
  const checkToken = createTokenCheck(tokens);
  const sessions = createSessions(accounts, options.nowMs);
  const wrongPasswords = createFailureLimit({ failuresMax: 10, windowMs: 60_000, ...clock });
  const wrongTokens = createFailureLimit({ failuresMax: 10, windowMs: 60_000, ...clock });

  const limitsTokens = tokens.some(isGuessable);

  function byToken(text: string, request: Request, response: Response): Principal {
    const token = checkToken(text);
    const mayBeGuessed = limitsTokens && (token === undefined || isGuessable(token));
    if (mayBeGuessed) refuseIfLimited(wrongTokens, request, response);
    if (token !== undefined) return { user: null, role: token.role, via: "token" };
    if (mayBeGuessed) wrongTokens.count(addressOf(request));
    throw unauthorized(response, "Cannot sign in: the token is not valid");
  }

  return {
    identify(request, response) {
      if (credentials === undefined) return LOCAL;
      const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
      if (token !== undefined) return byToken(token, request, response);
      const session = readSessionCookie(request);
      const owner = session === undefined ? undefined : sessions.read(session);
      return owner && { ...owner, via: "session" };
    },
    signIn(request, response, { user, password }) {
      refuseIfLimited(wrongPasswords, request, response);
      const account = checkPassword(user, password);
      if (account === undefined) {
        wrongPasswords.count(addressOf(request));
        throw unauthorized(response, "Cannot sign in: the user or the password is wrong");
      }
      const owner = { user: account.user, role: account.role };
      return { session: sessions.issue(owner), principal: { ...owner, via: "session" } };
    },
  };
}

const isGuessable = ({ token }: Token): boolean => token.length < TOKEN_LENGTH_MIN;

/** Other schemes are left to whatever stands in front and asks for them. */
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/** The error for an unknown caller, with the challenge that RFC 9110 requires. */
export function unauthorized(response: Response, message: string): MillraceError {
  response.set("WWW-Authenticate", 'Bearer realm="Millrace"');
  return new MillraceError("unauthorized", message);
}

function refuseIfLimited(limit: FailureLimit, request: Request, response: Response): void {
  const waitMs = limit.waitMs(addressOf(request));
  if (waitMs <= 0) return;
  response.set("Retry-After", String(Math.ceil(waitMs / 1_000)));
  throw new MillraceError(
    "too_many_failures",
    "Cannot sign in: too many wrong passwords or tokens. Try again later",
  );
}

const addressOf = (request: Request): string => request.socket.remoteAddress ?? "";
