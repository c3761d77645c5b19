import { connect, createServer } from "node:net";
import { migrate } from "@millrace/ledger";
import pg from "pg";
import { onTestFinished } from "vitest";
import { listenOnLoopback } from "../support/free-port.ts";
import { readRolesSql } from "../support/least-privilege.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { queryOnce, withPool } from "../support/query-once.ts";
import { withRedis } from "../support/redis-client.ts";
import { startRedis, type TestRedis } from "../support/redis-server.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { until } from "../support/until.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Prepared {
  readonly variables?: Variables;
  readonly after?: (worker: { end(): Promise<void> }) => Promise<unknown>;
}

export type SetUp = (servers: SetUpServers) => Promise<Prepared>;

export type SetUpServers = Awaited<ReturnType<typeof openServers>>;

const TEMPLATE = "set_ups_template";
export const PASSWORD = "a-password";
let names = 0;
export const newName = (): string => `set_up_${(names += 1)}`;

export async function openServers() {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const urlOf = (name: string) => withUrl(postgres.url, (url) => (url.pathname = `/${name}`));
  await queryOnce(postgres.url, `CREATE DATABASE ${TEMPLATE}`);
  await withPool(urlOf(TEMPLATE), (pool) => migrate({ pool }));
  const newDatabase = async ({ migrated = true } = {}) => {
    const name = newName();
    const template = migrated ? `TEMPLATE ${TEMPLATE}` : "";
    await queryOnce(postgres.url, `CREATE DATABASE ${name} ${template}`);
    return urlOf(name);
  };
  return {
    postgres,
    redis,
    databaseUrl: await newDatabase(),
    newDatabase,
    close: async () => {
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
}

export function withUrl(text: string, change: (url: URL) => unknown): string {
  const url = new URL(text);
  change(url);
  return url.href;
}

export async function newLogin({ url }: TestPostgres): Promise<string> {
  const login = newName();
  await queryOnce(url, `CREATE ROLE ${login} LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
  return login;
}

export const asLogin = (url: string, login: string): string =>
  withUrl(url, (each) => {
    each.username = login;
    each.password = PASSWORD;
  });

export async function changeSetting(
  { postgres: { url } }: SetUpServers,
  name: string,
  value: string,
): Promise<Prepared> {
  const read = async () =>
    (await queryOnce<{ now: string }>(url, `SELECT current_setting('${name}') AS now`))[0]?.now;
  const change = async (to = "") => {
    await queryOnce(url, `ALTER SYSTEM SET ${name} = '${to}'`);
    await queryOnce(url, "SELECT pg_reload_conf()");
    await until(async () => (await read()) === to);
  };
  const before = await read();
  await change(value);
  onTestFinished(() => change(before));
  return {};
}

export async function acceptOnlyTls({ url }: TestPostgres, login: string): Promise<void> {
  await queryOnce(
    url,
    `CREATE TEMP TABLE hba (line text, number serial);
     DO $$ BEGIN
       INSERT INTO hba (line) VALUES ('hostnossl all ${login} all reject');
       EXECUTE format('COPY hba (line) FROM %L WITH (DELIMITER E''\\x01'')', current_setting('hba_file'));
       EXECUTE format('COPY (SELECT line FROM hba ORDER BY number) TO %L WITH (DELIMITER E''\\x01'')',
         current_setting('hba_file'));
       PERFORM pg_reload_conf();
     END $$`,
  );
}

export async function claimVersion(major: number, serverUrl: string, url: string): Promise<string> {
  const [row] = await queryOnce<{ text: string; number: string }>(
    serverUrl,
    "SELECT current_setting('server_version') AS text, current_setting('server_version_num') AS number",
  );
  if (row === undefined) throw new Error("Cannot read the version of Postgres");
  const { text, number } = row;
  const claim = (said: string) =>
    said
      .replaceAll(number, `${major}${number.slice(2)}`)
      .replaceAll(text, `${major}${text.slice(2)}`);
  const proxy = createServer((client) => {
    const server = connect(Number(new URL(url).port), "127.0.0.1");
    for (const socket of [client, server]) socket.on("error", () => socket.destroy());
    client.pipe(server);
    server.on("data", (data) =>
      client.write(Buffer.from(claim(data.toString("latin1")), "latin1")),
    );
    server.on("close", () => client.destroy());
    client.on("close", () => server.destroy());
  });
  const port = String(await listenOnLoopback(proxy));
  onTestFinished(() => new Promise((resolve) => proxy.close(() => resolve())));
  return withUrl(url, (each) => (each.port = port));
}

export async function stream({ postgres: { url } }: SetUpServers): Promise<Prepared> {
  const config = { connectionString: url, replication: "true" };
  const standby = new pg.Client(config);
  standby.on("error", () => {});
  await standby.connect();
  onTestFinished(() => {
    standby.connection.stream.destroy();
  });
  const { rows } = await standby.query<{ xlogpos: string }>("IDENTIFY_SYSTEM");
  standby.query(`START_REPLICATION PHYSICAL ${rows[0]?.xlogpos}`).catch(() => {});
  const streaming = "SELECT FROM pg_stat_replication WHERE state = 'streaming'";
  await until(async () => (await queryOnce(url, streaming)).length > 0);
  return {};
}

export async function startOnFullDisk(): Promise<TestRedis> {
  const disk = await mountSmallDisk(16 * 1024 ** 2);
  onTestFinished(() => disk.close());
  const redis = await ownRedis(["--dir", disk.folder]);
  disk.fill();
  await withRedis(redis.url, async (client) => {
    const isRefused = async (): Promise<boolean> =>
      (await client.set("a-key", "x".repeat(10_000)).catch(String)) !== "OK";
    await until(isRefused, { what: "Redis refuse a write" });
  });
  return redis;
}

export const databaseAt = async (url: string | undefined): Promise<Prepared> => ({
  variables: { DATABASE_URL: url },
});
export const redisAt = async (url: string): Promise<Prepared> => ({
  variables: { REDIS_URL: url },
});

export async function redisWith(...args: string[]): Promise<Prepared> {
  return await redisAt((await ownRedis(args)).url);
}

export async function ownRedis(args: readonly string[] = []): Promise<TestRedis> {
  const redis = await startRedis({ args });
  onTestFinished(() => redis.stop());
  return redis;
}

export async function asRole(
  { newDatabase }: SetUpServers,
  role: string,
  more = "",
): Promise<Prepared> {
  const url = await newDatabase();
  await queryOnce(url, await readRolesSql());
  await queryOnce(url, `ALTER ROLE millrace_${role} PASSWORD '${PASSWORD}'; ${more}`);
  return await databaseAt(asLogin(url, `millrace_${role}`));
}

export async function withSettings(
  { postgres, databaseUrl }: SetUpServers,
  settings: Readonly<Record<string, string>>,
): Promise<Prepared> {
  const login = await newLogin(postgres);
  for (const [name, value] of Object.entries(settings)) {
    await queryOnce(postgres.url, `ALTER ROLE ${login} SET ${name} = ${value}`);
  }
  return await databaseAt(asLogin(databaseUrl, login));
}
