import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startPgbouncer } from "../../support/pgbouncer.ts";
import { startRedis } from "../../support/redis-server.ts";
import { type SentinelSetup, startSentinels } from "../../support/sentinel.ts";
import { createSlowDisk, type SlowDisk } from "../../support/slow-disk.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import type { Reaper } from "./role.ts";
import { type PostgresServer, type Standby, startPostgresServer, startStandby } from "./standby.ts";

export type Proxies = Awaited<ReturnType<typeof startProxies>>;

export type SetUp = "direct" | "pooled" | "sentinel" | "slow disk";

export type Servers = Awaited<ReturnType<typeof startServers>>;

export interface ServersOptions {
  readonly backend: "redis" | "postgres";
  readonly folder: string;
  readonly reaper: Reaper;
  readonly setUp?: SetUp | undefined;
  readonly redisArgs?: readonly string[] | undefined;
  readonly postgresSettings?: Readonly<Record<string, string>> | undefined;
  readonly postgresFolder?: string | undefined;
}

const SLOW_FSYNC_MS = 800;

export async function startServers(options: ServersOptions) {
  const { folder, reaper, setUp = "direct" } = options;
  const postgresOptions = {
    // The largest test environment wants 120.
    maxConnections: 150,
    settings: { shared_buffers: "64MB", ...options.postgresSettings },
  };
  let postgres = await startPostgresServer(
    join(options.postgresFolder ?? folder, "postgres"),
    postgresOptions,
  );
  let standbys = 0;
  reaper.watch(postgres.pid);
  const account = await startTcpProxy(postgres.url);
  const pooler = setUp === "pooled" ? await startPgbouncer(account.url) : undefined;
  const toPostgres = await startProxies(pooler?.url ?? postgres.url, account);
  const sentinels = setUp === "sentinel" ? await startSentinels() : undefined;
  const disk = setUp === "slow disk" ? createSlowDisk(SLOW_FSYNC_MS) : undefined;
  const redis =
    options.backend === "redis" ? await startRedisServer(options, { sentinels, disk }) : undefined;

  const release = async () => {
    await Promise.all([toPostgres, redis?.to].flatMap(closeProxies));
    await Promise.all([pooler?.stop(), (sentinels ?? redis?.server)?.stop()]);
    reaper.forget(redis?.server.pid);
    disk?.remove();
    await postgres.stop("immediate");
    reaper.forget(postgres.pid);
  };

  return {
    get postgres(): PostgresServer {
      return postgres;
    },
    toPostgres,
    ...{ pooler, redis, sentinels, disk },
    restartPostgres: async () => {
      await postgres.restart();
      reaper.watch(postgres.pid);
    },
    restartRedis: async () => {
      await redis?.server.restart();
      reaper.watch(redis?.server.pid);
    },
    startStandby: async () => {
      standbys += 1;
      const dataDir = join(folder, `postgres-${standbys}`);
      const standby = await startStandby(postgres, dataDir, postgresOptions);
      reaper.watch(standby.server.pid);
      return standby;
    },
    failOver: async <T>(standby: Standby, read: (url: string) => Promise<T>) => {
      const old = postgres;
      const names = [account, ...(pooler ? [] : [toPostgres.ingress, toPostgres.worker])];
      await old.kill();
      // A backend may outlive its postmaster by what it is doing.
      for (const proxy of [standby.link, ...names]) proxy.refuse();
      await standby.promote();
      postgres = standby.server;
      const has = await read(postgres.url);
      for (const proxy of names) {
        proxy.retarget(postgres.url);
        proxy.admit();
      }
      await old.restart();
      reaper.watch(old.pid);
      const had = await read(old.url);
      await old.stop("immediate");
      reaper.forget(old.pid);
      await rm(old.dataDir, { recursive: true, force: true });
      return { had, has };
    },
    release,
  };
}

async function startRedisServer(
  { reaper, redisArgs }: ServersOptions,
  { sentinels, disk }: { sentinels: SentinelSetup | undefined; disk: SlowDisk | undefined },
) {
  const options = { args: redisArgs ?? [], ...(disk && { env: disk.env }) };
  const server = sentinels?.servers[0] ?? (await startRedis(options));
  reaper.watch(server.pid);
  const url = sentinels?.urlOf(0) ?? server.url;
  return { server, to: await startProxies(url, await startTcpProxy(url)) };
}

async function startProxies(url: string, account: TcpProxy) {
  const [ingress, worker] = await Promise.all([startTcpProxy(url), startTcpProxy(url)]);
  return { ingress, worker, account };
}

function closeProxies(proxies: Proxies | undefined): Promise<void>[] {
  if (proxies === undefined) return [];
  return [proxies.ingress, proxies.worker, proxies.account].map((proxy) => proxy.close());
}
