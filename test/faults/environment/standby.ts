import { execFile } from "node:child_process";
import { chown, copyFile, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "@millrace/embedded-postgres";
import { withClient } from "../../support/query-once.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const run = promisify(execFile);

export interface PostgresServer extends EmbeddedPostgres {
  readonly dataDir: string;
}

export type Standby = Awaited<ReturnType<typeof startStandby>>;

interface PostgresOptions {
  readonly maxConnections: number;
  readonly settings: Readonly<Record<string, string>>;
}

const LEFT_OUT = new Set(["pg_wal", "pg_replslot", "postmaster.pid", "postmaster.opts"]);

export async function startPostgresServer(
  dataDir: string,
  options: PostgresOptions,
): Promise<PostgresServer> {
  return Object.assign(await startEmbeddedPostgres({ ...options, dataDir }), { dataDir });
}

/**
 * Makes a standby of a server that goes on meanwhile, in a folder that is not there yet.
 * @see https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 */
export async function startStandby(
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
