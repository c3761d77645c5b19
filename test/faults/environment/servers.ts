import { rm, chown, copyFile, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join, basename } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "@millrace/embedded-postgres";
import { startPgbouncer } from "../../support/pgbouncer.ts";
import { startRedis } from "../../support/redis-server.ts";
import { type SentinelSetup, startSentinels } from "../../support/sentinel.ts";
import { createSlowDisk, type SlowDisk } from "../../support/slow-disk.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import type { Reaper } from "./role.ts";
import { withClient } from "../../support/query-once.ts";
import { until } from "../../support/until.ts";

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

const run = promisify(execFile);

interface PostgresServer extends EmbeddedPostgres {
  readonly dataDir: string;
}

type Standby = Awaited<ReturnType<typeof startStandby>>;

interface PostgresOptions {
  readonly maxConnections: number;
  readonly settings: Readonly<Record<string, string>>;
}

const LEFT_OUT = new Set(["pg_wal", "pg_replslot", "postmaster.pid", "postmaster.opts"]);

async function startPostgresServer(
  dataDir: string,
  options: PostgresOptions,
): Promise<PostgresServer> {
  return Object.assign(await startEmbeddedPostgres({ ...options, dataDir }), { dataDir });
}

/**
 * Makes a standby of a server that goes on meanwhile, in a folder that is not there yet.
 * @see https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 */
async function startStandby(
  primary: PostgresServer,
  dataDir: string,
  { maxConnections, settings }: PostgresOptions,
) {
  const link = await startTcpProxy(primary.url);
  const slot = basename(dataDir).replaceAll("-", "_");
  try {
    await copyServer(primary, dataDir, slot);
    const options = {
      maxConnections,
      settings: { ...settings, ...followerSettings(link.url, slot) },
    };
    // Where it is up and answers too late, the next start finds it running.
    const start = () => startPostgresServer(dataDir, options);
    const server = await until(start, { withinMs: 120_000, what: "a standby" });
    return {
      server,
      link,
      makeSynchronous: () =>
        withClient(primary.url, async (client) => {
          await client.query("alter system set synchronous_standby_names = '*'");
          await client.query("select pg_reload_conf()");
          await until(async () => {
            const { rows } = await client.query("select sync_state from pg_stat_replication");
            return rows[0]?.sync_state === "sync";
          });
        }),
      promote: async () => {
        await withClient(server.url, (client) => client.query("select pg_promote(true, 60)"));
      },
    };
  } catch (error) {
    await link.close();
    throw error;
  }
}

async function copyServer(primary: PostgresServer, dataDir: string, slot: string): Promise<void> {
  const from = join(primary.dataDir, "data");
  const to = join(dataDir, "data");
  const { uid, gid } = await stat(from);
  const own = async (name: string, make: (path: string) => Promise<unknown>) => {
    await make(join(to, name));
    await chown(join(to, name), uid, gid);
  };
  await mkdir(dataDir, { mode: 0o755 });
  for (const name of ["", "pg_wal", "pg_replslot"]) {
    await own(name, (path) => mkdir(path, { mode: 0o700 }));
  }
  await copyFile(join(primary.dataDir, "server.json"), join(dataDir, "server.json"));
  await withClient(primary.url, async (client) => {
    // It keeps what is written from here on, until the standby has it.
    await client.query("select pg_create_physical_replication_slot($1, true)", [slot]);
    await client.query("select pg_backup_start('standby', true)");
    const names = (await readdir(from)).filter((name) => !LEFT_OUT.has(name));
    await run("cp", ["-a", ...names.map((name) => join(from, name)), to]).catch(ifGone);
    const { rows } = await client.query("select labelfile from pg_backup_stop(false)");
    await own("backup_label", (path) => writeFile(path, rows[0].labelfile, { mode: 0o600 }));
  });
  await own("standby.signal", (path) => writeFile(path, ""));
}

function ifGone(error: Error & { readonly stderr?: string }): void {
  const lines = (error.stderr ?? "").split("\n").filter((line) => line !== "");
  if (lines.length > 0 && lines.every((line) => line.includes("No such file"))) return;
  throw error;
}

function followerSettings(primaryUrl: string, slot: string): Record<string, string> {
  const { hostname, port, username, password } = new URL(primaryUrl);
  const how = { host: hostname, port, user: username, password, application_name: slot };
  const primary_conninfo = Object.entries(how)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
  return { primary_conninfo, primary_slot_name: slot };
}
