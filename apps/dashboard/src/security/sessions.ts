import { createHmac, scryptSync } from "node:crypto";
import type { Account, Role } from "./principal.ts";
import { digestOf, isSameSecret } from "./same-secret.ts";

/** How long a session lasts, in seconds: a working day. It is not prolonged. */
export const SESSION_SECONDS = 12 * 60 * 60;

/** Two dashboards' clocks may differ by so much. */
const CLOCK_SECONDS = 5 * 60;

/** Who a session belongs to. */
export interface SessionOwner {
  readonly user: string;
  readonly role: Role;
}

/** Sessions that nothing is stored of: each is a text with a MAC, in characters that a cookie may hold. */
export interface Sessions {
  issue(owner: SessionOwner): string;
  /** Undefined for what was not issued by a dashboard with the same password, or has expired. */
  read(text: string): SessionOwner | undefined;
}

/**
 * Makes and reads sessions. Each account has a key of its own, made of its password: a changed
 * password ends the account's sessions, several dashboards agree without a store, and who guesses at
 * the key behind a viewer's session learns nothing of the operator's password (decision 018).
 */
export function createSessions(
  accounts: readonly Account[],
  nowMs: () => number = Date.now,
): Sessions {
  const keys = accounts.map((account) => ({ ...account, key: keyOf(account) }));
  const keyFor = ({ user, role }: SessionOwner) =>
    keys.find((one) => one.user === user && one.role === role)?.key;
  const nowSeconds = () => Math.floor(nowMs() / 1_000);

  return {
    issue: (owner) => {
      const key = keyFor(owner);
      if (key === undefined) throw new Error(`Cannot issue a session: no account has this name`);
      const user = Buffer.from(owner.user).toString("base64url");
      const text = `1.${owner.role}.${nowSeconds() + SESSION_SECONDS}.${user}`;
      return `${text}.${macOf(key, text)}`;
    },
    read: (given) => {
      const parts = FORM.exec(given);
      const [, text = "", role = "", expires = "", user = "", mac = ""] = parts ?? [];
      if (parts === null) return undefined;
      const owner = { user: Buffer.from(user, "base64url").toString(), role: role as Role };
      const key = keyFor(owner);
      if (key === undefined) return undefined;
      if (!isSameSecret(digestOf(mac), digestOf(macOf(key, text)))) return undefined;
      const left = Number(expires) - nowSeconds();
      return left > 0 && left <= SESSION_SECONDS + CLOCK_SECONDS ? owner : undefined;
    },
  };
}

const FORM = /^(1\.(operator|viewer)\.(\d{10,12})\.([\w-]{1,1500}))\.([\w-]{43})$/;

// A password is no key: scrypt makes each guess at it dear, for whoever holds a session.
function keyOf({ user, role, password }: Account): Buffer {
  const salt = JSON.stringify(["millrace dashboard session 1", role, user]);
  return scryptSync(password, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 });
}

const macOf = (key: Buffer, text: string): string =>
  createHmac("sha256", key).update(text).digest("base64url");
