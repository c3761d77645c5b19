import { jsonOf } from "./payload.ts";

/** The parameter that holds `DATABASE_PASSWORD_COMMAND`, in a URL without a password. */
export const COMMAND_PARAMETER = "password_command";

const SENTINEL = /^rediss?\+sentinel:/;
const PORT_MAX = 65_535;

/**
 * Reads a URL of Postgres or Redis. `URL` reads no list of Sentinels, of which the first is taken,
 * no login without a host, which is Postgres' default then, and no path of a socket.
 */
export function readUrl(text: string): URL | undefined {
  const url = text
    .replace(/^\//, "unix:///")
    .replace(/^(rediss?\+sentinel:\/\/(?:[^/?#@]*@)?[^/?#,]*),[^/?#]*/, "$1")
    .replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=\/)/, "$1localhost");
  return URL.canParse(url) ? new URL(url) : undefined;
}

export function withParameter(url: string, name: string, value: string): string {
  return `${url}${url.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}`;
}

/** The program and its arguments: words, or a JSON list. No shell reads them, so no quotes. */
export function commandWords(text: string): readonly string[] | undefined {
  if (!text.trimStart().startsWith("[")) {
    return /["'`$|;<>]/.test(text) ? undefined : text.trim().split(/\s+/);
  }
  const list = jsonOf(text);
  const isList = Array.isArray(list) && list.every((word) => typeof word === "string");
  return isList && list.length > 0 ? list : undefined;
}

type Allowed = Readonly<Record<string, readonly string[]>>;

const OF_POSTGRES: Allowed = {
  sslmode: ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"],
  ssl: ["true", "1", "0", "no-verify"],
  sslnegotiation: ["postgres", "direct"],
};
const OF_REDIS: Allowed = { sslmode: ["verify-full", "no-verify"], family: ["0", "4", "6"] };

const SEVERAL_HOSTS = "names several hosts: name one, the primary or a proxy before them";
const BAD_PORT = `has a port that is not 1 to ${PORT_MAX}`;
const NO_URL =
  "must be a URL; in its user and password write # as %23, / as %2F, ? as %3F, @ as %40, % as %25";

/** Says what is wrong with a URL of Postgres, without a part of its password. */
export function postgresProblem(text: string): string | undefined {
  const url = readUrl(text);
  const problem = addressProblem(text, url);
  if (problem !== undefined || url === undefined) return problem;
  const { searchParams } = url;
  if (searchParams.get("host")?.includes(",") === true) return SEVERAL_HOSTS;
  if (isNoPort(searchParams.get("port") ?? "1")) return BAD_PORT;
  const direct = searchParams.get("sslnegotiation") === "direct";
  if (direct && searchParams.get("sslmode") === "disable") {
    return "has sslmode=disable, and sslnegotiation=direct, which needs TLS";
  }
  return wrongParameter(searchParams, OF_POSTGRES);
}

export function redisProblem(text: string): string | undefined {
  const url = readUrl(text);
  const problem = addressProblem(text, url);
  if (problem !== undefined || url === undefined) return problem;
  const { pathname, searchParams, username, password } = url;
  if (percentDecoded(username + password) === undefined) return NO_URL;
  const isSentinel = SENTINEL.test(text);
  if (isSentinel && !/^\/[^/]+$/.test(pathname)) {
    return "names no primary: write redis+sentinel://host:26379/name";
  }
  const path = isSentinel || url.protocol === "unix:" ? "" : pathname.slice(1);
  if (!/^\d*$/.test(path || (searchParams.get("db") ?? ""))) {
    return "has a database that is no number: write /0, or ?db=0 for a socket and Sentinels";
  }
  if (searchParams.has("sslmode") && !text.startsWith("rediss")) {
    return "has an sslmode, which needs rediss://";
  }
  return wrongParameter(searchParams, OF_REDIS);
}

function addressProblem(text: string, url: URL | undefined): string | undefined {
  const [, hosts = ""] = /^[^:]+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(text) ?? [];
  if (hosts.includes(",") && !SENTINEL.test(text)) return SEVERAL_HOSTS;
  const [, port] = /[^:]:(\d+)$/.exec(hosts) ?? [];
  if (port !== undefined && isNoPort(port)) return BAD_PORT;
  // A "#" ends the host, so the text after it would be left out silently.
  return url === undefined || url.hash !== "" ? NO_URL : undefined;
}

const isNoPort = (text: string): boolean =>
  !/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > PORT_MAX;

export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function wrongParameter(given: URLSearchParams, allowed: Allowed): string | undefined {
  const wrong = Object.entries(allowed).find(
    ([name, values]) => given.has(name) && !values.includes(given.get(name) ?? ""),
  );
  return wrong && `has another ${wrong[0]} than ${wrong[1].join(", ")}`;
}
