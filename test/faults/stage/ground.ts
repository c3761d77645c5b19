import { join } from "node:path";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "@millrace/embedded-postgres";
import { startRedis, type TestRedis } from "../../support/redis-server.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import type { Reaper } from "./reaper.ts";

/** The ways of the two kinds of roles to one server. */
export interface Ways {
  readonly ingress: TcpProxy;
  readonly worker: TcpProxy;
}

/** The servers of a stage, each behind proxies: processes that a fault may kill. */
export interface Ground {
  readonly postgres: EmbeddedPostgres;
  readonly toPostgres: Ways;
  /** Undefined on the Postgres backend. */
  readonly redis: { readonly server: TestRedis; readonly to: Ways } | undefined;
  /** Start a server again, whether it was killed or runs. */
  restartPostgres(): Promise<void>;
  restartRedis(): Promise<void>;
  release(): Promise<void>;
}

export interface GroundOptions {
  readonly backend: "redis" | "postgres";
  readonly folder: string;
  readonly reaper: Reaper;
  readonly redisArgs?: readonly string[] | undefined;
  readonly postgresSettings?: Readonly<Record<string, string>> | undefined;
  /** Where Postgres keeps its data. Default: in `folder`. */
  readonly postgresFolder?: string | undefined;
}

export async function startGround(options: GroundOptions): Promise<Ground> {
  const { folder, reaper } = options;
  // A stage of the largest kind wants 120.
  const maxConnections = 150;
  const settings = { shared_buffers: "64MB", ...options.postgresSettings };
  const postgres = await startEmbeddedPostgres({
    dataDir: join(options.postgresFolder ?? folder, "postgres"),
    settings,
    maxConnections,
  });
  reaper.watch(postgres.pid);
  const toPostgres = await openWays(postgres.url);
  const redis = options.backend === "redis" ? await startRedisGround(options) : undefined;
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
      await Promise.all([toPostgres, redis?.to].flatMap(closeWays));
      await redis?.server.stop();
      reaper.forget(redis?.server.pid);
      await postgres.stop("immediate");
      reaper.forget(postgres.pid);
    },
  };
}

async function startRedisGround({ reaper, redisArgs }: GroundOptions): Promise<Ground["redis"]> {
  const server = await startRedis({ args: redisArgs ?? [] });
  reaper.watch(server.pid);
  return { server, to: await openWays(server.url) };
}

async function openWays(url: string): Promise<Ways> {
  const [ingress, worker] = await Promise.all([startTcpProxy(url), startTcpProxy(url)]);
  return { ingress, worker };
}

function closeWays(ways: Ways | undefined): Promise<void>[] {
  return ways === undefined ? [] : [ways.ingress.close(), ways.worker.close()];
}
