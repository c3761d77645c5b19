import { spawn } from "node:child_process";
import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from "@millrace/embedded-postgres";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startOwner } from "./owner-process.ts";

let folder: string;
let dataDir: string;
const closers: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-embedded-"));
  dataDir = join(folder, "postgres");
});

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
  await rm(folder, { recursive: true, force: true });
});

describe("a first start", () => {
  test("gives a UTF-8 server that knows no locale but its own", async () => {
    const postgres = await start();
    const [row] = await query(
      postgres.url,
      `SELECT current_setting('server_encoding') AS encoding, datlocprovider AS provider,
        datlocale AS locale, datcollate AS collation, current_database() AS name,
        current_setting('max_connections') AS connections, current_setting('timezone') AS zone
        FROM pg_database WHERE datname = current_database()`,
    );
    expect(row).toEqual({
      encoding: "UTF8",
      provider: "b",
      locale: "C.UTF-8",
      collation: "C",
      name: "millrace",
      connections: "300",
      zone: "UTC",
    });
    expect(postgres.adopted).toBe(false);
  });

  test("listens on loopback alone, and opens to its password alone", async () => {
    const postgres = await start();
    const [row] = await query(
      postgres.url,
      `SELECT current_setting('listen_addresses') AS hosts,
        current_setting('unix_socket_directories') AS sockets`,
    );
    expect(row).toEqual({ hosts: "127.0.0.1", sockets: "" });
    const wrong = new URL(postgres.url);
    wrong.password = "guessed";
    await expect(query(wrong.href, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  });

  test("keeps data and password from other users", async () => {
    await start();
    const mode = async (name: string) => (await stat(join(dataDir, name))).mode & 0o777;
    expect(await mode(".")).toBe(0o700);
    expect(await mode("data")).toBe(0o700);
    expect(await mode("server.json")).toBe(0o600);
    expect(await mode("postgres.log")).toBe(0o600);
  });

  test("takes the database, the connections and the settings that it is given", async () => {
    const postgres = await start({
      database: 'odd "name"',
      maxConnections: 20,
      settings: { work_mem: "5MB" },
    });
    const [row] = await query(
      postgres.url,
      `SELECT current_database() AS name, current_setting('max_connections') AS connections,
        current_setting('work_mem') AS memory`,
    );
    expect(row).toEqual({ name: 'odd "name"', connections: "20", memory: "5MB" });
  });

  test("works under a path with spaces, quotes and letters beyond ASCII", async () => {
    dataDir = join(folder, `it's a "folder" $HOME ü`);
    const postgres = await start();
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("works under a folder that only its owner can enter", async () => {
    await mkdir(join(folder, "closed"), { mode: 0o700 });
    dataDir = join(folder, "closed", "postgres");
    const postgres = await start();
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("begins anew where an earlier one died half-way", async () => {
    await mkdir(join(dataDir, "data.new"), { recursive: true });
    await writeFile(join(dataDir, "data.new", "PG_VERSION"), "18\n");
    await writeFile(join(dataDir, "server.json"), '{"port":29999,"password":"kept"}\n');
    const postgres = await start();
    expect(new URL(postgres.url).password).toBe("kept");
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("takes nothing from a strange environment", async () => {
    const owner = await startOwner(dataDir, {
      env: { LC_ALL: "xx", LANG: "yy", PGDATA: "/nowhere", PGPORT: "1", TZ: "Mars/Base" },
    });
    closers.push(() => owner.stop());
    expect(owner.said).toMatchObject({ adopted: false });
    expect(await query(owner.said.url ?? "", "SHOW server_encoding")).toEqual([
      { server_encoding: "UTF8" },
    ]);
  });
});

describe("a later start", () => {
  test("finds the data, on the same port with the same password", async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE kept (n int)");
    await first.stop();
    const second = await start();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, "SELECT count(*)::int AS n FROM kept")).toEqual([{ n: 0 }]);
  });

  test("recovers from a postmaster that was killed, with what was committed", async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE kept AS SELECT 7 AS n");
    await first.kill();
    await first.stop();
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second.url, "SELECT n FROM kept")).toEqual([{ n: 7 }]);
  });

  test("ends what a killed postmaster left at work", async () => {
    const first = await start();
    const busy = query(first.url, "DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$");
    busy.catch(() => undefined);
    await expect
      .poll(() => query(first.url, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'DO %'"))
      .toHaveLength(1);
    await first.kill();
    await first.stop();
    const second = await start();
    expect(await query(second.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await expect(busy).rejects.toThrow("Connection terminated");
  });

  test("adopts the server of a process that was killed", async () => {
    const owner = await startOwner(dataDir);
    await owner.kill();
    const postgres = await start();
    expect(postgres).toMatchObject({ adopted: true, url: owner.said.url });
    expect(postgres.pid).toBe(owner.said.pid);
    await postgres.stop();
    await expect(query(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  test("can restart a server that it adopted", async () => {
    const owner = await startOwner(dataDir);
    await owner.kill();
    const postgres = await start();
    await postgres.restart();
    expect(postgres.pid).not.toBe(owner.said.pid);
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("removes a pid file whose number is another process's by now", async () => {
    await (await start()).stop();
    const pidFile = join(dataDir, "data", "postmaster.pid");
    const { uid, gid } = await stat(join(dataDir, "data"));
    const stranger = spawn("sleep", ["600"], { uid, gid });
    closers.push(async () => stranger.kill());
    await writeFile(pidFile, `${stranger.pid}\n/proc/self/cwd\n1\n5432\n\n127.0.0.1\n`);
    const postgres = await start();
    expect(postgres.adopted).toBe(false);
    expect(await readFile(pidFile, "utf8")).toMatch(new RegExp(`^${postgres.pid}\n`));
  });

  test("moves to another port, and stays there, when a stranger has taken its own", async () => {
    const first = await start();
    await first.stop();
    const stranger = await listen(first.port);
    const second = await start();
    expect(second.port).not.toBe(first.port);
    await second.stop();
    await close(stranger);
    expect((await start()).port).toBe(second.port);
  });

  test("refuses a port that it was told to use and a stranger has taken", async () => {
    const port = await freePort();
    const stranger = await listen(port);
    await expect(start({ port })).rejects.toMatchObject({ code: "port_in_use" });
    await close(stranger);
    expect((await start({ port })).port).toBe(port);
  });

  test("says what to do when the password is gone", async () => {
    await (await start()).stop();
    await rm(join(dataDir, "server.json"));
    await expect(start()).rejects.toMatchObject({
      code: "postgres_not_started",
      message: expect.stringContaining("server.json"),
    });
  });

  test("says what Postgres said when it does not start", async () => {
    await expect(start({ settings: { shared_buffers: "lots" } })).rejects.toMatchObject({
      code: "postgres_not_started",
      message: expect.stringMatching(/DATABASE_URL[\s\S]*shared_buffers/),
    });
  });
});

describe("two starts in one folder", () => {
  test("the second in the same process is refused by name", async () => {
    await start();
    await expect(start()).rejects.toMatchObject({ code: "already_running" });
  });

  test("of two processes that begin at once exactly one starts a server", async () => {
    const owners = await Promise.all([startOwner(dataDir), startOwner(dataDir)]);
    const winners = owners.filter((owner) => owner.said.pid !== undefined);
    const losers = owners.filter((owner) => owner.said.code === "already_running");
    for (const winner of winners) closers.push(() => winner.stop());
    expect([winners.length, losers.length]).toEqual([1, 1]);
    expect(losers[0]?.said.message).toContain(String(winners[0]?.child.pid));
  });

  test("the folder is free again after a stop, and after a start that failed", async () => {
    await expect(start({ settings: { no_such: "1" } })).rejects.toThrow("no_such");
    await (await start()).stop();
    await start();
  });
});

describe("the end", () => {
  test("comes to a server that hangs, by force", async () => {
    const postgres = await start();
    process.kill(postgres.pid, "SIGSTOP");
    await postgres.stop("immediate");
    await expect(query(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  test("may be asked for twice", async () => {
    const postgres = await start();
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    await expect(query(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  test("can be undone: a server that was killed starts again on the same port", async () => {
    const postgres = await start();
    const before = postgres.pid;
    await postgres.kill();
    await expect(query(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await postgres.restart();
    expect(postgres.pid).not.toBe(before);
    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test.runIf(process.platform === "linux")("passes the server by on Ctrl-C", async () => {
    const postgres = await start();
    const text = await readFile(`/proc/${postgres.pid}/stat`, "utf8");
    const group = text.slice(text.lastIndexOf(")") + 2).split(" ")[2];
    expect(group).toBe(String(postgres.pid));
  });
});

const NOBODY = 65_534;

// The other user must be able to read this clone, to run what was built in it.
describe.runIf(process.getuid?.() === 0)("an ordinary user", () => {
  test("has a server of its own, without a home or a locale", async (context) => {
    if (!(await othersCanEnter(import.meta.dirname))) {
      context.skip("this clone lies where uid 65534 cannot read it");
    }
    await chown(folder, NOBODY, NOBODY);
    const env = { HOME: "/nonexistent", LC_ALL: "xx" };
    const first = await startOwner(dataDir, { uid: NOBODY, env });
    expect(first.said).toMatchObject({ adopted: false });
    expect((await stat(dataDir)).uid).toBe(NOBODY);
    await first.kill();
    const second = await startOwner(dataDir, { uid: NOBODY, env });
    closers.push(() => second.stop());
    expect(second.said).toMatchObject({ adopted: true, pid: first.said.pid });
  });
});

async function start(options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, ...options });
  closers.push(() => postgres.stop("immediate"));
  return postgres;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function othersCanEnter(path: string): Promise<boolean> {
  if (((await stat(path)).mode & 0o001) === 0) return false;
  return path === dirname(path) || othersCanEnter(dirname(path));
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  closers.push(() => close(server));
  return server;
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
