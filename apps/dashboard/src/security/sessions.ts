import { createHmac, randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import type { Role } from "@millrace/api-contract";
import { withDeadline } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { CookieOptions, Request, Response } from "express";
import { setNewest } from "../cache.ts";
import { digestOf, type Account } from "./credentials.ts";

/** A working day. No use of a session prolongs it. */
const SESSION_SECONDS = 12 * 60 * 60;

/** The clocks of two dashboards may differ by this. */
const CLOCK_SECONDS = 5 * 60;

export type SessionOwner = Omit<Account, "password">;

export interface Session extends SessionOwner {
  /** Names the session in the list of sessions; it opens nothing. */
  readonly id: string;
  readonly expiresAt: Date;
}

/**
 * Each account's key is made of its password: a changed password ends its sessions, dashboards need
 * no shared store, and a viewer's key reveals nothing of the operator's password (decision 018).
 */
export function createSessions(accounts: readonly Account[], nowMs: () => number = Date.now) {
  const keys = accounts.map((account) => ({ ...account, key: keyOf(account) }));
  const keyFor = ({ user, role }: SessionOwner) =>
    keys.find((one) => one.user === user && one.role === role)?.key;
  const nowSeconds = () => Math.floor(nowMs() / 1_000);

  return {
    issue: (owner: SessionOwner): { text: string; session: Session } => {
      const key = keyFor(owner);
      if (key === undefined) throw new Error("Cannot issue a session: no account has this name");
      const user = Buffer.from(owner.user).toString("base64url");
      const id = randomBytes(ID_BYTES).toString("base64url");
      const expires = nowSeconds() + SESSION_SECONDS;
      const text = `2.${owner.role}.${expires}.${user}.${id}`;
      const session = { ...owner, id, expiresAt: new Date(expires * 1_000) };
      return { text: `${text}.${macOf(key, text)}`, session };
    },
    /** Undefined for a text of another password or form, and for an expired one. */
    read: (given: string): Session | undefined => {
      const parts = FORM.exec(given);
      const [, text = "", role = "", expires = "", user = "", id = "", mac = ""] = parts ?? [];
      if (parts === null) return undefined;
      const owner = { user: Buffer.from(user, "base64url").toString(), role: role as Role };
      const key = keyFor(owner);
      if (key === undefined) return undefined;
      if (!timingSafeEqual(digestOf(mac), digestOf(macOf(key, text)))) return undefined;
      const left = Number(expires) - nowSeconds();
      if (left <= 0 || left > SESSION_SECONDS + CLOCK_SECONDS) return undefined;
      return { ...owner, id, expiresAt: new Date(Number(expires) * 1_000) };
    },
  };
}

const ID_BYTES = 16;
const FORM = /^(2\.(operator|viewer)\.(\d{10,12})\.([\w-]{1,1500})\.([\w-]{22}))\.([\w-]{43})$/;

// A password is no key: scrypt makes guesses slow for someone who holds a session.
function keyOf({ user, role, password }: Account): Buffer {
  const salt = JSON.stringify(["millrace dashboard session 1", role, user]);
  return scryptSync(password, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 });
}

const macOf = (key: Buffer, text: string): string =>
  createHmac("sha256", key).update(text).digest("base64url");

const SESSION = "millrace_session";
/** The name over TLS: no sibling host and no plain page can set this prefix (RFC 6265bis). */
const SECURE_SESSION = `__Host-${SESSION}`;

/** Of two cookies of one name, one is planted: neither counts. */
export function readSessionCookie(request: Request): string | undefined {
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  for (const name of [SECURE_SESSION, SESSION]) {
    const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
    if (found.length > 0) {
      return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
    }
  }
  return undefined;
}

/** `Secure` when the page's own origin is https: a proxy may end TLS. */
export function setSessionCookie(request: Request, response: Response, session: string): void {
  const secure = request.headers.origin?.toLowerCase().startsWith("https:") === true;
  const options = { ...ALWAYS, secure, maxAge: SESSION_SECONDS * 1_000 };
  response.cookie(secure ? SECURE_SESSION : SESSION, session, options);
}

export function clearSessionCookie(response: Response): void {
  response.clearCookie(SESSION, ALWAYS);
  response.clearCookie(SECURE_SESSION, { ...ALWAYS, secure: true });
}

const ALWAYS: CookieOptions = { httpOnly: true, sameSite: "strict", path: "/" };

export type SessionStore = ReturnType<typeof createSessionStore>;

interface Deps {
  readonly ledger: Pick<Ledger, "sessions">;
  readonly onError: (error: unknown) => void;
}

const FRESH_MS = 10_000;
const ANSWER_MS_MAX = 1_000;
const SESSIONS_MAX = 10_000;

interface Known {
  askedMs: number;
  ended: boolean;
  answer: Promise<void>;
}

/**
 * Postgres is needed to end a session, and not to have one: while it is away nobody is signed out,
 * and people can sign in.
 */
export function createSessionStore({ ledger, onError }: Deps) {
  const known = new Map<string, Known>();

  const late = () => new Error(`Postgres did not answer for a session in ${ANSWER_MS_MAX} ms`);

  async function ask(session: Session, network: string, to: Known): Promise<void> {
    try {
      const seen = ledger.sessions.see({ ...session, network });
      const { ended } = await withDeadline(seen, ANSWER_MS_MAX, late);
      if (ended) to.ended = true;
    } catch (error) {
      onError(error);
    }
  }

  function remember(id: string): Known {
    const found = known.get(id) ?? { askedMs: -Infinity, ended: false, answer: Promise.resolve() };
    setNewest(known, id, found, SESSIONS_MAX);
    return found;
  }

  return {
    /** Also notes the use. The answer is ten seconds old at most, unless Postgres is away. */
    async isEnded(session: Session, network: string): Promise<boolean> {
      const one = remember(session.id);
      if (performance.now() - one.askedMs >= FRESH_MS) {
        one.askedMs = performance.now();
        one.answer = ask(session, network, one);
      }
      await one.answer;
      return one.ended;
    },
    /** Ends a session here at once, and in other dashboards when Postgres has it. */
    async end(session: Session): Promise<void> {
      remember(session.id).ended = true;
      await withDeadline(ledger.sessions.end(session.id), ANSWER_MS_MAX, late).catch(onError);
    },
  };
}
