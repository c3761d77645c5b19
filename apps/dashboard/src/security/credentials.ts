import { createHash, timingSafeEqual } from "node:crypto";
import type { Role } from "@millrace/api-contract";
import { MillraceError, type Environment } from "@millrace/core";

export interface Account {
  readonly user: string;
  readonly password: string;
  readonly role: Role;
}

interface Token {
  readonly token: string;
  /** Who the program is, in the audit. */
  readonly name: string;
  readonly role: Role;
}

export interface Credentials {
  readonly accounts: readonly Account[];
  readonly tokens: readonly Token[];
}

/** Characters of a password and a token, at least: with 30 guesses a minute nobody finds one. */
const SECRET_LENGTH_MIN = 16;

type Prefix = "DASHBOARD" | "DASHBOARD_VIEWER";
type Variables = Pick<Environment, `${Prefix}_${"USER" | "PASSWORD" | "TOKEN" | "TOKENS"}`>;

const PREFIXES: readonly (readonly [Role, Prefix])[] = [
  ["operator", "DASHBOARD"],
  ["viewer", "DASHBOARD_VIEWER"],
];

/**
 * Returns undefined when no user and no token is set.
 * @throws `invalid_config` when only one of a user and its password is set, when two are the same,
 * when a name is a user's and a program's, or when a token cannot be sent as one.
 */
export function credentialsOf(environment: Variables): Credentials | undefined {
  const accounts = PREFIXES.flatMap(([role, prefix]) => accountOf(environment, role, prefix));
  const tokens = PREFIXES.flatMap(([role, prefix]) => tokensOf(environment, role, prefix));
  const users = accounts.map(({ user }) => user);
  const texts = tokens.map(({ token }) => token);
  refuseTwice("user", users);
  refuseTwice("token", texts);
  // Two tokens may have one name, so that one can replace the other.
  refuseTwice("name", [...users, ...new Set(tokens.map(({ name }) => name))]);
  return accounts.length + tokens.length === 0 ? undefined : { accounts, tokens };
}

function accountOf(environment: Variables, role: Role, prefix: Prefix): Account[] {
  const user = environment[`${prefix}_USER`];
  const password = environment[`${prefix}_PASSWORD`];
  if (user === undefined && password === undefined) return [];
  if (user === undefined || password === undefined) {
    const missing = user === undefined ? "USER" : "PASSWORD";
    throw refusal(`${prefix}_${missing} is not set, and the other is`);
  }
  if (user.length > 256 || password.length > 1_024) {
    throw refusal(`${prefix}_USER or ${prefix}_PASSWORD is longer than 256 or 1,024 characters`);
  }
  return [{ user, password, role }];
}

/** A header carries visible ASCII. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** A token without a name has the name of its variable, which no other name can be. */
function tokensOf(environment: Variables, role: Role, prefix: Prefix): Token[] {
  const unnamed = `${prefix}_TOKEN` as const;
  const named = `${prefix}_TOKENS` as const;
  const tokens = [
    ...listOf(environment[unnamed]).map((token) => ({ name: unnamed, token })),
    ...listOf(environment[named]).map((text) => {
      const end = text.indexOf(":");
      return { name: text.slice(0, end), token: text.slice(end + 1) };
    }),
  ];
  const unsendable = tokens.find(({ token }) => !SENDABLE.test(token));
  if (unsendable !== undefined) {
    const variable = unsendable.name === unnamed ? unnamed : named;
    throw refusal(`${variable} holds a space, or what is not ASCII`);
  }
  return tokens.map((token) => ({ ...token, role }));
}

export const listOf = (text = ""): string[] =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

function refuseTwice(what: string, values: readonly string[]): void {
  if (new Set(values).size === values.length) return;
  throw refusal(`one ${what} is given twice, so its role is ambiguous`);
}

export function weaknessOf({ accounts, tokens }: Credentials): string | undefined {
  const account = accounts.find(({ password }) => password.length < SECRET_LENGTH_MIN);
  const token = tokens.find((one) => one.token.length < SECRET_LENGTH_MIN);
  const weak = account ? `the password of the ${account.role}` : token && `the token ${token.name}`;
  if (weak === undefined) return undefined;
  return (
    `${weak} is shorter than ${SECRET_LENGTH_MIN} characters. ` +
    "Set a random one, such as `openssl rand -hex 16` prints"
  );
}

const refusal = (why: string) =>
  new MillraceError("invalid_config", `Cannot guard the dashboard: ${why}`);

/** Digests are compared in constant time. They have equal lengths: a secret's is not revealed. */
export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares every account, so that the response time reveals no user name. */
export function createPasswordCheck(accounts: readonly Account[]) {
  const known = accounts.map((account) => ({
    account,
    user: digestOf(account.user),
    password: digestOf(account.password),
  }));
  return (user: string, password: string): Account | undefined => {
    const given = { user: digestOf(user), password: digestOf(password) };
    const found = known.filter((one) => {
      const isUser = timingSafeEqual(one.user, given.user);
      const isPassword = timingSafeEqual(one.password, given.password);
      return isUser && isPassword;
    });
    return found[0]?.account;
  };
}

export function createTokenCheck(tokens: readonly Token[]) {
  const known = tokens.map((token) => ({ token, digest: digestOf(token.token) }));
  return (text: string): Token | undefined => {
    const given = digestOf(text);
    return known.filter(({ digest }) => timingSafeEqual(digest, given))[0]?.token;
  };
}
