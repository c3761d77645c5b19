import type { Role } from "@millrace/api-contract";
import { MillraceError, type Environment } from "@millrace/core";

/** A person who signs in with a password. */
export interface Account {
  readonly user: string;
  readonly password: string;
  readonly role: Role;
}

/** What a program sends as `Authorization: Bearer ...`. */
export interface Token {
  readonly token: string;
  readonly role: Role;
}

/** Everyone who has access. */
export interface Credentials {
  readonly accounts: readonly Account[];
  readonly tokens: readonly Token[];
}

/** Wrong passwords are limited to ten a minute and address, so a password must take many guesses. */
const PASSWORD_LENGTH_MIN = 8;
/** Nobody guesses a token of this many characters; a shorter one is only accepted on loopback. */
export const TOKEN_LENGTH_MIN = 16;

type Variables = Pick<
  Environment,
  | "DASHBOARD_USER"
  | "DASHBOARD_PASSWORD"
  | "DASHBOARD_VIEWER_USER"
  | "DASHBOARD_VIEWER_PASSWORD"
  | "DASHBOARD_TOKEN"
  | "DASHBOARD_VIEWER_TOKEN"
>;

const PREFIXES: readonly (readonly [Role, "DASHBOARD" | "DASHBOARD_VIEWER"])[] = [
  ["operator", "DASHBOARD"],
  ["viewer", "DASHBOARD_VIEWER"],
];

/**
 * Who has access, by the environment; undefined when nobody is named.
 *
 * @throws `invalid_config` when only one of a user and its password is set, when two are the same, or
 * when a token cannot be sent as one.
 */
export function credentialsOf(environment: Variables): Credentials | undefined {
  const accounts = PREFIXES.flatMap(([role, prefix]) => accountOf(environment, role, prefix));
  const tokens = PREFIXES.flatMap(([role, prefix]) => tokensOf(environment, role, prefix));
  refuseTwice(
    "user",
    accounts.map(({ user }) => user),
  );
  refuseTwice(
    "token",
    tokens.map(({ token }) => token),
  );
  return accounts.length + tokens.length === 0 ? undefined : { accounts, tokens };
}

function accountOf(
  environment: Variables,
  role: Role,
  prefix: "DASHBOARD" | "DASHBOARD_VIEWER",
): Account[] {
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

/** Visible ASCII, which is what a header's value can carry. */
const SENDABLE = /^[\x21-\x7e]+$/;

function tokensOf(
  environment: Variables,
  role: Role,
  prefix: "DASHBOARD" | "DASHBOARD_VIEWER",
): Token[] {
  const list = (environment[`${prefix}_TOKEN`] ?? "").split(",").map((token) => token.trim());
  const tokens = list.filter((token) => token !== "");
  if (!tokens.every((token) => SENDABLE.test(token))) {
    throw refusal(`${prefix}_TOKEN holds a space, or what is not ASCII`);
  }
  return tokens.map((token) => ({ token, role }));
}

function refuseTwice(what: string, values: readonly string[]): void {
  if (new Set(values).size === values.length) return;
  throw refusal(`one ${what} is given twice, so its role is ambiguous`);
}

/** Why credentials are not strong enough for a dashboard that other machines can reach. */
export function weaknessOf({ accounts, tokens }: Credentials): string | undefined {
  if (accounts.length + tokens.length === 0) {
    return (
      "DASHBOARD_USER and DASHBOARD_PASSWORD are not set, and neither is DASHBOARD_TOKEN, so anyone could " +
      "retry events there"
    );
  }
  const weak = accounts.find(({ password }) => password.length < PASSWORD_LENGTH_MIN);
  if (weak !== undefined) {
    return `the password of the ${weak.role} is shorter than ${PASSWORD_LENGTH_MIN} characters`;
  }
  const short = tokens.find(({ token }) => token.length < TOKEN_LENGTH_MIN);
  if (short === undefined) return undefined;
  return `a token of the ${short.role} is shorter than ${TOKEN_LENGTH_MIN} characters`;
}

const refusal = (why: string) =>
  new MillraceError("invalid_config", `Cannot guard the dashboard: ${why}`);
