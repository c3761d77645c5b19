import type { Account, Role, Token } from "./principal.ts";
import { digestOf, isSameSecret } from "./same-secret.ts";

/** Finds the account of a user and password; undefined when either is wrong. */
export type CheckPassword = (user: string, password: string) => Account | undefined;

/** Finds the role of a token; undefined when there is none like it. */
export type CheckToken = (token: string) => Role | undefined;

/** Compares with every account, in constant time, so that no name is told from another by the clock. */
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
  const known = tokens.map(({ token, role }) => ({ role, digest: digestOf(token) }));
  return (token) => {
    const given = digestOf(token);
    return known.filter(({ digest }) => isSameSecret(digest, given)).at(0)?.role;
  };
}
