import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { appendFile, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { queryOnce } from "./query-once.ts";
import { ordinaryUser, startServerProcess } from "./server-process.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import { until } from "./until.ts";

const run = promisify(execFile);
const FOLDER = "/usr/lib/postgresql";

export function postgresProgramsPath(): string | undefined {
  if (!existsSync(FOLDER)) return undefined;
  return readdirSync(FOLDER)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(FOLDER, version, "bin"))
    .find((path) => existsSync(join(path, "pg_basebackup")));
}

export type PostgresPair = Awaited<ReturnType<typeof startPostgresPair>>;

export async function startPostgresPair({
  settings = [],
}: {
  readonly settings?: readonly string[];
} = {}) {
  const folder = await serverFolder();
  const primary = await createServer(folder, "primary", settings);
  const link = await startTcpProxy(primary.url);
  const name = await startTcpProxy(primary.url);
  await copyServer(link.url, join(folder, "standby"));
  const standby = await openServer(folder, "standby");
  const caughtUp = async () => {
    await until(async () => {
      const [written] = await primary.query<{ lsn: string }>("SELECT pg_current_wal_lsn() AS lsn");
      const [row] = await standby.query<{ done: boolean }>(
        "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done",
        [written?.lsn],
      );
      return row?.done;
    });
  };
  await caughtUp();
  return {
    primary,
    standby,
    url: name.url,
    name,
    link,
    caughtUp,
    promote: async () => void (await standby.query("SELECT pg_promote(true, 60)")),
    moveName: ({ cut = true } = {}) => name.retarget(standby.url, { cut }),
    stop: async () => {
      await Promise.all([name.close(), link.close()]);
      await Promise.all([standby.kill(), primary.kill()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function startInstalledPostgres() {
  const folder = await serverFolder();
  const server = await createServer(folder, "primary", []);
  const stop = async () => {
    await server.kill();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...server, stop };
}

async function serverFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-standby-"));
  const user = ordinaryUser();
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

async function createServer(folder: string, name: string, settings: readonly string[]) {
  const dataDir = join(folder, name);
  const how = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
  await runProgram("initdb", [...how, "-D", dataDir]);
  await appendFile(join(dataDir, "postgresql.conf"), `\n${settings.join("\n")}\n`);
  return await openServer(folder, name);
}

async function copyServer(url: string, dataDir: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const from = ["-h", hostname, "-p", port, "-U", "postgres"];
  await runProgram("pg_basebackup", [...from, "-D", dataDir, "-R", "-X", "stream", "-c", "fast"]);
}

async function openServer(folder: string, name: string) {
  const dataDir = join(folder, name);
  const port = await freePort();
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
  const server = await startServerProcess({
    name: "Postgres",
    path: programPath("postgres"),
    args: ["-D", dataDir, "-p", String(port), "-c", "unix_socket_directories="],
    folder,
    spawn: { cwd: dataDir, env: {}, ...ordinaryUser() },
    isReady: () => queryOnce(url, "SELECT 1"),
  });
  return {
    url,
    dataDir,
    query: <Row extends Record<string, unknown>>(text: string, values?: unknown[]) =>
      queryOnce<Row>(url, text, values),
    kill: () => server.end(),
    halt: () => server.end("SIGINT"),
    start: server.start,
  };
}

async function runProgram(name: string, args: readonly string[]): Promise<void> {
  await run(programPath(name), args, { cwd: "/", env: {}, ...ordinaryUser() });
}

function programPath(name: string): string {
  const path = postgresProgramsPath();
  if (path === undefined) throw new Error(`Cannot start Postgres: no ${FOLDER}/*/bin/${name}`);
  return join(path, name);
}
