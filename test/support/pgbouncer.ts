import { execFileSync } from "node:child_process";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executablePath } from "./executable-path.ts";
import { freePort } from "./free-port.ts";
import { queryOnce } from "./query-once.ts";
import { ordinaryUser, startServerProcess } from "./server-process.ts";

export type TestPgbouncer = Awaited<ReturnType<typeof startPgbouncer>>;

interface PgbouncerOptions {
  readonly poolMode?: "transaction" | "session";
  readonly poolSize?: number;
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly users?: readonly string[];
}

export function pgbouncerPath(): string | undefined {
  return process.env["PGBOUNCER"] ?? executablePath("pgbouncer", ["/usr/sbin", "/usr/local/sbin"]);
}

export function canKeepNames(): boolean {
  const said = execFileSync(requirePath(), ["--version"], { encoding: "utf8" });
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/i.exec(said) ?? [];
  if (major === undefined) throw new Error(`Cannot read PgBouncer's version: it says "${said}"`);
  return Number(major) > 1 || Number(minor) >= 21;
}

function requirePath(): string {
  const path = pgbouncerPath();
  if (path === undefined) throw new Error("Cannot start PgBouncer: no pgbouncer on PATH");
  return path;
}

export async function startPgbouncer(databaseUrl: string, options: PgbouncerOptions = {}) {
  const path = requirePath();
  const folder = await mkdtemp(join(tmpdir(), "millrace-pgbouncer-"));
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  await writeFile(file, configText(databaseUrl, { ...options, folder, port }));
  await writeFile(join(folder, "users.txt"), usersText([databaseUrl, ...(options.users ?? [])]));
  const user = ordinaryUser();
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const urlOf = (direct: string) => {
    const url = new URL(direct);
    url.hostname = "127.0.0.1";
    url.port = String(port);
    return url.href;
  };
  const ask = (command: string) => {
    const url = new URL(urlOf(databaseUrl));
    url.pathname = "/pgbouncer";
    return queryOnce<Record<string, unknown>>(url.href, command);
  };
  const server = await startServerProcess({
    ...{ name: "PgBouncer", path, args: [file], folder, spawn: user },
    isReady: () => ask("SHOW VERSION"),
  });
  return {
    url: urlOf(databaseUrl),
    port,
    get pid(): number {
      return server.pid;
    },
    urlOf,
    ask,
    kill: () => server.end(),
    restart: async () => {
      await server.end();
      await server.start();
    },
    stop: async () => {
      await server.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configText(
  databaseUrl: string,
  { folder, port, ...options }: PgbouncerOptions & { folder: string; port: number },
): string {
  const { hostname, port: serverPort, username } = new URL(databaseUrl);
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: join(folder, "users.txt"),
    admin_users: decodeURIComponent(username),
    pool_mode: options.poolMode ?? "transaction",
    default_pool_size: options.poolSize ?? 20,
    max_client_conn: 1_000,
    ...options.settings,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return [
    "[databases]",
    `* = host=${hostname} port=${serverPort}`,
    "[pgbouncer]",
    ...lines,
    "",
  ].join("\n");
}

function usersText(urls: readonly string[]): string {
  const lines = urls.map((url) => {
    const { username, password } = new URL(url);
    return `${quoted(username)} ${quoted(password)}\n`;
  });
  return [...new Set(lines)].join("");
}

function quoted(urlPart: string): string {
  return `"${decodeURIComponent(urlPart).replaceAll('"', '""')}"`;
}
