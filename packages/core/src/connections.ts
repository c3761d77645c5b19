import { randomBytes } from "node:crypto";
import { isMillraceError, MillraceError } from "./errors.ts";

/** Patterns of failed connections and remedies; `%` is the variable that names the server. */
const HINTS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/ENOTFOUND|EAI_AGAIN|EAI_NODATA/, "Check the host in %: its name has no address"],
  [/DATABASE_PASSWORD_COMMAND/, "Run it by hand: it must print the password within five seconds"],
  [/connect (ENOENT|EACCES|EINVAL)/, "Check the path of the socket in %, and that the server runs"],
  [/ECONNREFUSED/, "Check the host and port in %, and that the server runs there"],
  [/no encryption/, "The server accepts only TLS: add ?sslmode=verify-full to %"],
  [/does not support SSL/, "The server has no TLS: turn it on there, or remove sslmode from %"],
  [
    /self.signed|unable to (verify|get)|UNABLE_TO|CERT_|altname/i,
    "Check the certificate's CA: sslrootcert in DATABASE_URL, REDIS_CA_FILE for Redis; a host that " +
      "signs its own, as Heroku does, needs sslmode=no-verify in %",
  ],
  [
    /wrong version number|packet length too long|EPROTO|ERR_SSL|no answer by TLS/i,
    "Check the port in %, and whether the server speaks TLS there: without TLS, begin % with redis://",
  ],
  [/NOPERM/, "The user in % lacks a right: infra/redis/users.acl has those that it needs"],
  // ioredis, when no Sentinel has named the primary.
  [
    /sentinels are unreachable[^]*(WRONGPASS|NOAUTH)/,
    "Check sentinelUsername and sentinelPassword in %",
  ],
  // ioredis does not say why it passed over each of them.
  [
    /sentinels are unreachable[^]*Connection is closed/,
    "Check the hosts and ports of the Sentinels in %, and whether they speak TLS: if so, begin % with " +
      "rediss+sentinel://, and name a private CA in REDIS_CA_FILE",
  ],
  [/28P01|28000|password|WRONGPASS|NOAUTH/, "Check the user and password in %"],
  [/3D000|database ".*" does not exist/, "Create the database, or correct its name in %"],
  [/DB index/, "Use a database number that this Redis has: the path in %, such as /0"],
  [/53300|too many (clients|connections)/, "Raise max_connections, or lower worker.concurrency"],
  [
    /^redis_unreachable[^]*(Connection is closed|ECONNRESET)/,
    "The server ends connections at once: if it speaks TLS on this port, begin % with rediss://",
  ],
];

const READ_ONLY =
  "Name the primary in DATABASE_URL, or set default_transaction_read_only = off for the login";

export type DatabaseVariable = "DATABASE_URL" | "DATABASE_SESSION_URL" | "RETENTION_DATABASE_URL";

export function connectionHint(
  error: unknown,
  variable: DatabaseVariable = "DATABASE_URL",
): string | undefined {
  if (!isMillraceError(error)) return undefined;
  const { code } = error;
  if (code === "database_read_only") return READ_ONLY;
  const isRedis = code === "redis_unreachable";
  if (!isRedis && code !== "database_unavailable" && code !== "database_unreachable")
    return undefined;
  const text = [...textsOf(error)].join("\n");
  const [, hint] = HINTS.find(([pattern]) => pattern.test(text)) ?? [];
  // A server that is known not to be there says so itself.
  if (hint === undefined && code === "database_unreachable") return undefined;
  const known = hint ?? "Check %, and that the server runs there";
  return known.replaceAll("%", isRedis ? "REDIS_URL" : variable);
}

export function withHint(error: unknown, variable?: DatabaseVariable): unknown {
  const hint = connectionHint(error, variable);
  if (hint === undefined || !isMillraceError(error)) return error;
  if (isMillraceError(error.cause) && error.cause.code === error.code) return error;
  return new MillraceError(error.code, `${error.message}. ${hint}`, { cause: error });
}

function* textsOf(error: unknown): Generator<string> {
  if (!(error instanceof Error)) return;
  if ("code" in error) yield String(error.code);
  yield error.message;
  if (error instanceof AggregateError) for (const each of error.errors) yield* textsOf(each);
  yield* textsOf(error.cause);
}

/** The name of a pool in pg_stat_activity with its maximum: `millrace-worker/28-9f3ac1`. */
export function poolName(name: string, connectionsMax: number): string {
  return `${name}/${connectionsMax}-${randomBytes(3).toString("hex")}`;
}

export function readPoolName(text: string): { name: string; connectionsMax: number } | undefined {
  const [, name, max] = /^(millrace-[a-z-]+)\/(\d+)-[0-9a-f]{6}$/.exec(text) ?? [];
  if (name === undefined || max === undefined) return undefined;
  return { name, connectionsMax: Number(max) };
}

export interface DatabaseName {
  /** The cluster's system identifier; empty where this login or server does not show it. */
  readonly systemId: string;
  readonly oid: string;
}

export function isSameDatabase(one: DatabaseName, other: DatabaseName): boolean {
  const isSameServer =
    [one.systemId, other.systemId].includes("") || one.systemId === other.systemId;
  return isSameServer && one.oid === other.oid;
}

export interface LedgerName extends DatabaseName {
  /** A UUID that a copy of the database shares until `millrace adopt`. */
  readonly ledger: string;
  /** When Postgres started, a whole number: two copies of one folder have two times. */
  readonly startedAtMs: number;
}

/** Settings that the driver, our arrays and the pool's sessions need, whatever a login has. */
const PINNED = {
  datestyle: "ISO",
  extra_float_digits: "1",
  array_nulls: "on",
  exit_on_error: "off",
  statement_timeout: "0",
  idle_session_timeout: "0",
};

/** For the startup packet of a connection. A RESET ALL goes back to it. */
export const PINNED_OPTIONS = Object.entries(PINNED)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

/** For the begin of a transaction behind a pooler, which takes no such packet. */
export const PINNED_LOCALLY = Object.entries(PINNED).map(
  ([name, value]) => `SET LOCAL ${name} = ${value}`,
);
