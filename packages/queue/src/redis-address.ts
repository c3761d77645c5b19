import { readFileSync } from "node:fs";
import { isLoopback, MillraceError, readUrl, redisProblem } from "@millrace/core";
import { Redis, type RedisOptions } from "ioredis";

const SENTINEL = /^rediss?\+sentinel:/;
const SENTINEL_PORT = 26_379;
/** Milliseconds that one Sentinel has to answer; then the next one is asked. */
const SENTINEL_TIMEOUT_MS = 1_000;
const SENTINEL_RETRY_MS = 250;
/** The answers of a server that has become a replica: to a write, and to a read that waited. */
const DEMOTED = /\b(?:READONLY|UNBLOCKED)\b/;

/**
 * Opens a connection to the server of a URL: `redis://` or `rediss://` for one server, or
 * `redis+sentinel://` or `rediss+sentinel://` for the primary that Sentinel names
 * (`redis+sentinel://user:password@h1:26379,h2/name`, with `db`, `sentinelUsername` and
 * `sentinelPassword` as parameters), or `unix:///path` for a socket. `sslrootcert` names the file
 * of a private CA in PEM; `sslmode=no-verify` checks no certificate. A connection to a demoted
 * server is closed, and the next one goes to wherever the name or Sentinel points.
 * @throws `invalid_config` when the CA's file cannot be read, or the URL is malformed
 */
export function connectRedis(text: string, options: RedisOptions): Redis {
  const problem = redisProblem(text);
  const url = readUrl(text);
  if (problem !== undefined || url === undefined) throw malformed(problem ?? "");
  const tls = readTls(url.searchParams);
  const shared: RedisOptions = {
    ...options,
    reconnectOnError: ({ message }) => DEMOTED.test(message),
  };
  if (SENTINEL.test(text)) {
    const retry = { sentinelRetryStrategy: () => SENTINEL_RETRY_MS };
    return new Redis({ ...retry, ...shared, ...sentinelOptions(text, url, tls) });
  }
  for (const ours of ["sslrootcert", "sslmode"]) url.searchParams.delete(ours);
  const address = url.protocol === "unix:" ? `${decodeURI(url.pathname)}${url.search}` : url.href;
  return new Redis(address, tls === undefined ? shared : { ...shared, tls });
}

/** True when only this machine can reach the Redis. Sentinel may name a server on any machine. */
export function isRedisOnThisMachine(text: string): boolean {
  if (SENTINEL.test(text)) return false;
  const host = unbracketed(readUrl(text)?.hostname ?? "");
  return host === "" || isLoopback(host);
}

/** @throws `redis_topology` */
export function checkTopology(info: ReadonlyMap<string, string>): void {
  const mode = info.get("redis_mode");
  if (mode === "cluster") {
    throw misfit(
      "it is a node of a Redis Cluster, which spreads the keys of a queue over several nodes. " +
        "Set REDIS_URL to a Redis without cluster mode, or to its Sentinels: redis+sentinel://host:26379/name",
    );
  }
  if (mode === "sentinel") {
    throw misfit(
      "it is a Sentinel. Set REDIS_URL to redis+sentinel://host:26379/name, with the name of its primary",
    );
  }
  if (info.get("role") === "slave") {
    const primary = `${info.get("master_host") ?? "?"}:${info.get("master_port") ?? "?"}`;
    throw misfit(
      `it is a replica, which takes no writes. Set REDIS_URL to its primary (${primary}), ` +
        "or to its Sentinels: redis+sentinel://host:26379/name",
    );
  }
}

/** The fault of the last Sentinel that was asked, unless it was merely away. */
export function watchSentinels(client: Redis): () => MillraceError | undefined {
  let problem: MillraceError | undefined;
  client.on("sentinelError", ({ message }: Error) => {
    problem = /invalid reply|No such master/.test(message)
      ? misfit(
          `Sentinel knows no primary named "${client.options.name ?? ""}". ` +
            "Set the name in REDIS_URL to that of `sentinel monitor` in sentinel.conf",
        )
      : /unknown command/i.test(message)
        ? misfit("no Sentinel answers. Set REDIS_URL to redis://, or to the ports of the Sentinels")
        : problem;
  });
  return () => problem;
}

function misfit(problem: string): MillraceError {
  return new MillraceError("redis_topology", `Cannot use this Redis: ${problem}`);
}

function sentinelOptions(text: string, url: URL, tls: RedisOptions["tls"]): RedisOptions {
  const { searchParams } = url;
  const isSecure = text.startsWith("rediss");
  const parameter = (name: string) => searchParams.get(name) ?? undefined;
  return {
    sentinels: sentinelHosts(text),
    name: decodeURIComponent(url.pathname.slice(1)),
    role: "master",
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    db: Number(parameter("db") ?? 0),
    sentinelUsername: parameter("sentinelUsername"),
    sentinelPassword: parameter("sentinelPassword"),
    ...(isSecure ? { tls: tls ?? {}, sentinelTLS: tls ?? {}, enableTLSForSentinelMode: true } : {}),
    connectTimeout: SENTINEL_TIMEOUT_MS,
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
  };
}

function sentinelHosts(text: string): { host: string; port: number }[] {
  const list = /^[^:]+:\/\/(?:[^/?#@]*@)?([^/?#]*)/.exec(text)?.[1] ?? "";
  return list.split(",").map((each) => {
    // Of a known scheme, so that the port is checked.
    if (each === "" || !URL.canParse(`redis://${each}`))
      throw malformed(`names "${each}", which is no host`);
    const { hostname, port } = new URL(`redis://${each}`);
    return { host: unbracketed(hostname), port: port === "" ? SENTINEL_PORT : Number(port) };
  });
}

function readTls(parameters: URLSearchParams): RedisOptions["tls"] {
  const unchecked = parameters.get("sslmode") === "no-verify" && { rejectUnauthorized: false };
  const file = parameters.get("sslrootcert") ?? "system";
  if (file === "system") return unchecked || undefined;
  try {
    return { ca: readFileSync(file, "utf8"), ...unchecked };
  } catch (error) {
    throw malformed(`names a file in sslrootcert (REDIS_CA_FILE): ${(error as Error).message}`);
  }
}

const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, "");

function malformed(problem: string): MillraceError {
  return new MillraceError("invalid_config", `Cannot use REDIS_URL: it ${problem}`);
}
