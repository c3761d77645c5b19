import { createHash, timingSafeEqual } from "node:crypto";
import type { Account, Token } from "./credentials.ts";

/** A secret in the form that {@link isSameSecret} compares. */
export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Compares two secrets in constant time. Digests have equal lengths, so the comparison reveals
 * nothing of the secret's length.
 */
export const isSameSecret = (left: Buffer, right: Buffer): boolean => timingSafeEqual(left, right);

/** Finds the account of a user and password; undefined when either is wrong. */
export type CheckPassword = (user: string, password: string) => Account | undefined;

/** Finds the token that equals a text; undefined when there is none. */
export type CheckToken = (text: string) => Token | undefined;

/**
 * Compares with every account, in constant time, so that response times do not reveal user names.
 */
export function createPasswordCheck(accounts: readonly Account[]): CheckPassword {
  const known = accounts.map((account) => ({
    account,
    user: digestOf(account.user),
    password: digestOf(account.password),
  }));
  return (user, password) => {
    const given = { user: digestOf(user), password: digestOf(password) };
    return known
      .filter((one) => {
        const isUser = isSameSecret(one.user, given.user);
        const isPassword = isSameSecret(one.password, given.password);
        return isUser && isPassword;
      })
      .at(0)?.account;
  };
}

/** Compares with every token, in constant time. */
export function createTokenCheck(tokens: readonly Token[]): CheckToken {
  const known = tokens.map((token) => ({ token, digest: digestOf(token.token) }));
  return (text) => {
    const given = digestOf(text);
    return known.filter(({ digest }) => isSameSecret(digest, given)).at(0)?.token;
  };
}
