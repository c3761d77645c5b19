import { join } from "node:path";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "@millrace/embedded-postgres";
import { startRedis, type TestRedis } from "../../support/redis-server.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import type { Reaper } from "./reaper.ts";

/** What stands between one server and the two kinds of roles. */
export interface Proxies {
  readonly ingress: TcpProxy;
  readonly worker: TcpProxy;
}

/** The servers of a test environment, each behind proxies: processes that a fault may kill. */
export interface Servers {
  readonly postgres: EmbeddedPostgres;
  readonly toPostgres: Proxies;
  /** Undefined on the Postgres backend. */
  readonly redis: { readonly server: TestRedis; readonly to: Proxies } | undefined;
  /** Start a server again, whether it was killed or runs. */
  restartPostgres(): Promise<void>;
  restartRedis(): Promise<void>;
  release(): Promise<void>;
}

export interface ServersOptions {
  readonly backend: "redis" | "postgres";
  readonly folder: string;
  readonly reaper: Reaper;
  readonly redisArgs?: readonly string[] | undefined;
  readonly postgresSettings?: Readonly<Record<string, string>> | undefined;
  /** Where Postgres keeps its data. Default: in `folder`. */
  readonly postgresFolder?: string | undefined;
}

export async function startServers(options: ServersOptions): Promise<Servers> {
  const { folder, reaper } = options;
  // The largest test environment wants 120.
  const maxConnections = 150;
  const settings = { shared_buffers: "64MB", ...options.postgresSettings };
  const dataDir = join(options.postgresFolder ?? folder, "postgres");
  const postgres = await startEmbeddedPostgres({ dataDir, settings, maxConnections });
  reaper.watch(postgres.pid);
  const toPostgres = await startProxies(postgres.url);
  const redis = options.backend === "redis" ? await startRedisServer(options) : undefined;
  return {
    postgres,
    toPostgres,
    redis,
    restartPostgres: async () => {
      await postgres.restart();
      reaper.watch(postgres.pid);
    },
    restartRedis: async () => {
      await redis?.server.restart();
      reaper.watch(redis?.server.pid);
    },
    release: async () => {
      await Promise.all([toPostgres, redis?.to].flatMap(closeProxies));
      await redis?.server.stop();
      reaper.forget(redis?.server.pid);
      await postgres.stop("immediate");
      reaper.forget(postgres.pid);
    },
  };
}

async function startRedisServer({ reaper, redisArgs }: ServersOptions): Promise<Servers["redis"]> {
  const server = await startRedis({ args: redisArgs ?? [] });
  reaper.watch(server.pid);
  return { server, to: await startProxies(server.url) };
}

async function startProxies(url: string): Promise<Proxies> {
  const [ingress, worker] = await Promise.all([startTcpProxy(url), startTcpProxy(url)]);
  return { ingress, worker };
}

function closeProxies(proxies: Proxies | undefined): Promise<void>[] {
  return proxies === undefined ? [] : [proxies.ingress.close(), proxies.worker.close()];
}
