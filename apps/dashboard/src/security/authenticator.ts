import { isIP, isIPv4 } from "node:net";
import type { BodyOf, Principal } from "@millrace/api-contract";
import { MillraceError } from "@millrace/core";
import type { Request, RequestHandler, Response } from "express";
import { isRead } from "./browser-security.ts";
import { createPasswordCheck, createTokenCheck, type Credentials } from "./credentials.ts";
import { createSessions, readSessionCookie, type SessionStore } from "./sessions.ts";
import type { SignInFailure, SignInRecord } from "./sign-in-record.ts";

export type Authenticator = ReturnType<typeof createAuthenticator>;

interface Deps {
  readonly record: SignInRecord;
  readonly store: SessionStore;
  readonly nowMs?: (() => number) | undefined;
}

const FAILURES_MAX = 30;
const WINDOW_MS = 60_000;
const NOBODY: Credentials = { accounts: [], tokens: [] };
const LOCAL: Principal = { user: null, role: "operator", via: "local" };

/**
 * Without credentials everyone is an operator; the dashboard then listens on this machine only.
 *
 * After 30 failures in a minute, of all networks together, passwords are refused unchecked. A
 * session and a right token are accepted at any time: nobody guesses 16 characters.
 */
export function createAuthenticator(
  credentials: Credentials | undefined,
  { record, store, nowMs = Date.now }: Deps,
) {
  const { accounts, tokens } = credentials ?? NOBODY;
  const checkPassword = createPasswordCheck(accounts);
  const checkToken = createTokenCheck(tokens);
  const sessions = createSessions(accounts, nowMs);
  let failedMs: number[] = [];

  function refuseFlood(request: Request, response: Response): void {
    const beganMs = nowMs() - WINDOW_MS;
    failedMs = failedMs.filter((ms) => ms > beganMs);
    const [oldestMs = 0] = failedMs;
    if (failedMs.length < FAILURES_MAX) return;
    record.failed("too_many_failures", networkOf(request));
    response.set("Retry-After", String(Math.ceil((oldestMs - beganMs) / 1_000)));
    throw new MillraceError(
      "too_many_failures",
      "Cannot sign in: too many wrong passwords or tokens. Try again later",
    );
  }

  function countFailure(failure: SignInFailure, request: Request): void {
    failedMs.push(nowMs());
    record.failed(failure, networkOf(request));
  }

  return {
    /** Undefined for a stranger. @throws `unauthorized` for a wrong token; `too_many_failures` */
    async identify(request: Request, response: Response): Promise<Principal | undefined> {
      if (credentials === undefined) return LOCAL;
      const text = BEARER.exec(request.headers.authorization ?? "")?.[1];
      if (text !== undefined) {
        const token = checkToken(text);
        if (token !== undefined) return { user: token.name, role: token.role, via: "token" };
        refuseFlood(request, response);
        countFailure("wrong_token", request);
        throw unauthorized(response, "Cannot sign in: the token is not valid");
      }
      const session = sessions.read(readSessionCookie(request) ?? "");
      if (session === undefined || (await store.isEnded(session, networkOf(request))))
        return undefined;
      return { user: session.user, role: session.role, via: "session" };
    },
    /** @throws `unauthorized`; `too_many_failures`, and then nothing was checked. */
    async signIn(request: Request, response: Response, login: BodyOf<"post /session">) {
      refuseFlood(request, response);
      const account = checkPassword(login.user, login.password);
      if (account === undefined) {
        countFailure("wrong_password", request);
        throw unauthorized(response, "Cannot sign in: the user or the password is wrong");
      }
      const owner = { user: account.user, role: account.role };
      const network = networkOf(request);
      const { text, session } = sessions.issue(owner);
      await Promise.all([record.signedIn(owner, network), store.isEnded(session, network)]);
      return { session: text, principal: { ...owner, via: "session" as const } };
    },
    async signOut(request: Request): Promise<void> {
      const session = sessions.read(readSessionCookie(request) ?? "");
      if (session !== undefined) await store.end(session);
    },
    close: () => record.close(),
  };
}

/** Another scheme is for a proxy in front. */
const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/** With the challenge that RFC 9110 requires. */
export function unauthorized(response: Response, message: string): MillraceError {
  response.set("WWW-Authenticate", 'Bearer realm="Millrace"');
  return new MillraceError("unauthorized", message);
}

/**
 * An IPv4 address, or the /64 of an IPv6 address, since one client has all addresses of a /64.
 * A proxy may write something else; then the connection's address counts.
 */
function networkOf(request: Request): string {
  const { ip = "", socket } = request;
  return networkOfAddress(isIP(ip) === 0 ? (socket.remoteAddress ?? "") : ip);
}

export function networkOfAddress(address: string): string {
  // A server on :: sees an IPv4 client like this.
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIPv4(address)) return address;
  return isIP(address) === 6 ? `${prefixOf(address)}::/64` : "unknown";
}

const GROUPS = 8;
const GROUPS_OF_PREFIX = 4;

/** A URL writes each address in one way: without a zone, upper case, or an IPv4 address in it. */
function prefixOf(address: string): string {
  const { hostname } = new URL(`http://[${address.replace(/%.*/, "")}]`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(GROUPS - before.length - after.length).fill("0");
  return [...before, ...zeros, ...after].slice(0, GROUPS_OF_PREFIX).join(":");
}

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
