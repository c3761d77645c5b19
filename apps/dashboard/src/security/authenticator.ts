import type { Principal } from "@millrace/api-contract";
import { MillraceError } from "@millrace/core";
import type { Request, Response } from "express";
import { networkOf, originOf } from "./client-network.ts";
import { TOKEN_LENGTH_MIN, type Credentials, type Token } from "./credentials.ts";
import { createFailureLimit } from "./failure-limit.ts";
import { createPasswordCheck, createTokenCheck } from "./secrets.ts";
import type { SessionStore } from "./session-store.ts";
import { createSessions, readBrowserCookie, readSessionCookie } from "./sessions.ts";
import { SignInQueue } from "./sign-in-queue.ts";
import type { SignInRecord } from "./sign-in-record.ts";

/** Knows everybody who may come in. */
export interface Authenticator {
  /**
   * Who sent a request, by its token or its session; undefined for a stranger.
   * @throws `unauthorized` for a wrong token; `too_many_failures` after ten of them in a minute, where
   * a token is short enough to guess.
   */
  identify(request: Request, response: Response): Promise<Principal | undefined>;
  /**
   * Checks a user and password when it is their turn, and gives a session for them, and a text by which a
   * browser is known from now on, unless it is already.
   * @throws `unauthorized`, `too_many_failures` when too many of this network wait already.
   */
  signIn(
    request: Request,
    response: Response,
    given: { user: string; password: string },
  ): Promise<SignedIn>;
  /** Ends the session that a request has, if any. */
  signOut(request: Request): Promise<void>;
  /** Lets no sign-in wait any longer, and writes down what was gathered. */
  close(): Promise<void>;
}

interface Deps {
  readonly record: SignInRecord;
  readonly store: SessionStore;
  readonly nowMs?: (() => number) | undefined;
}

interface SignedIn {
  readonly session: string;
  readonly browser: string | undefined;
  readonly principal: Principal;
}

const NOBODY: Credentials = { accounts: [], tokens: [] };
const LOCAL: Principal = { user: null, role: "operator", via: "local" };

/**
 * Creates the authenticator. Without credentials everyone is an operator; the dashboard then listens on
 * this machine only.
 *
 * Only what can be guessed is limited: passwords as the queue of sign-ins has it, and tokens shorter than 16
 * characters, which a network cannot use for the rest of a minute after ten wrong ones. A session or a longer
 * token is always accepted: behind a proxy all clients share one address, and an old script's failures must
 * not lock out the others.
 */
export function createAuthenticator(
  credentials: Credentials | undefined,
  { record, store, nowMs }: Deps,
): Authenticator {
  const { accounts, tokens } = credentials ?? NOBODY;
  const checkPassword = createPasswordCheck(accounts);
  const sessions = createSessions(accounts, nowMs);
  const queue = new SignInQueue();
  const byToken = createTokenReader(tokens, { record, nowMs });

  return {
    async identify(request, response) {
      if (credentials === undefined) return LOCAL;
      const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
      if (token !== undefined) return byToken(token, request, response);
      const session = sessions.read(readSessionCookie(request) ?? "");
      if (session === undefined || (await store.isEnded(session, networkOf(request))))
        return undefined;
      return { user: session.user, role: session.role, via: "session" };
    },
    async signIn(request, response, { user, password }) {
      const network = networkOf(request);
      const browser = sessions.readBrowser(readBrowserCookie(request) ?? "", user);
      const guesser =
        browser === undefined
          ? { network, origin: originOf(network), isKnown: false }
          : { network: browser, origin: browser, isKnown: true };
      const turn = await queue.run(guesser, () => checkPassword(user, password));
      if (turn.kind === "refused") {
        record.failed("too_many_failures", network);
        throw tooManyFailures(response, turn.retryMs);
      }
      if (turn.found === undefined) {
        record.failed("wrong_password", network);
        throw unauthorized(response, "Cannot sign in: the user or the password is wrong");
      }
      const owner = { user: turn.found.user, role: turn.found.role };
      const { text, session } = sessions.issue(owner);
      await Promise.all([record.signedIn(owner, network), store.isEnded(session, network)]);
      return {
        session: text,
        browser: browser === undefined ? sessions.issueBrowser(owner) : undefined,
        principal: { ...owner, via: "session" },
      };
    },
    async signOut(request) {
      const session = sessions.read(readSessionCookie(request) ?? "");
      if (session !== undefined) await store.end(session);
    },
    async close() {
      queue.close();
      // Those that were refused just now are counted first.
      await new Promise(setImmediate);
      await record.close();
    },
  };
}

/** Knows programs by their tokens. */
function createTokenReader(
  tokens: readonly Token[],
  { record, nowMs = Date.now }: Pick<Deps, "record" | "nowMs">,
) {
  const checkToken = createTokenCheck(tokens);
  const wrongTokens = createFailureLimit({ failuresMax: 10, windowMs: 60_000, nowMs });
  const limitsTokens = tokens.some(isGuessable);

  return (text: string, request: Request, response: Response): Principal => {
    const token = checkToken(text);
    const network = networkOf(request);
    const mayBeGuessed = limitsTokens && (token === undefined || isGuessable(token));
    const waitMs = mayBeGuessed ? wrongTokens.waitMs(network) : 0;
    if (waitMs > 0) {
      record.failed("too_many_failures", network);
      throw tooManyFailures(response, waitMs);
    }
    if (token !== undefined) return { user: token.name, role: token.role, via: "token" };
    if (mayBeGuessed) wrongTokens.count(network);
    record.failed("wrong_token", network);
    throw unauthorized(response, "Cannot sign in: the token is not valid");
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

function tooManyFailures(response: Response, waitMs: number): MillraceError {
  response.set("Retry-After", String(Math.ceil(waitMs / 1_000)));
  return new MillraceError(
    "too_many_failures",
    "Cannot sign in: too many wrong passwords or tokens. Try again later",
  );
}
