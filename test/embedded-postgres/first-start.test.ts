import { chown, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { queryOnce } from "../support/query-once.ts";
import { onFolder } from "./on-folder.ts";
import { startOwner } from "./owner-process.ts";

const it = onFolder({ hasData: false });

describe("a first start", () => {
  test("gives a UTF-8 server that knows no locale but its own", async () => {
    const postgres = await it.start();
    const [row] = await queryOnce(
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
    const postgres = await it.start();
    const [row] = await queryOnce(
      postgres.url,
      `SELECT current_setting('listen_addresses') AS hosts,
        current_setting('unix_socket_directories') AS sockets`,
    );
    expect(row).toEqual({ hosts: "127.0.0.1", sockets: "" });
    const wrong = new URL(postgres.url);
    wrong.password = "guessed";
    await expect(queryOnce(wrong.href, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  });

  test("keeps data and password from other users", async () => {
    await it.start();
    const mode = async (name: string) => (await stat(join(it.dataDir, name))).mode & 0o777;
    expect(await mode(".")).toBe(0o700);
    expect(await mode("data")).toBe(0o700);
    expect(await mode("server.json")).toBe(0o600);
    expect(await mode("postgres.log")).toBe(0o600);
  });

  test("takes the database, the connections and the settings that it is given", async () => {
    const postgres = await it.start({
      database: 'odd "name"',
      maxConnections: 20,
      settings: { work_mem: "5MB" },
    });
    const [row] = await queryOnce(
      postgres.url,
      `SELECT current_database() AS name, current_setting('max_connections') AS connections,
        current_setting('work_mem') AS memory`,
    );
    expect(row).toEqual({ name: 'odd "name"', connections: "20", memory: "5MB" });
  });

  test("works under a path with spaces, quotes and letters beyond ASCII", async () => {
    it.dataDir = join(it.folder, `it's a "folder" $HOME ü`);
    const postgres = await it.start();
    expect(await queryOnce(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("works under a folder that only its owner can enter", async () => {
    await mkdir(join(it.folder, "closed"), { mode: 0o700 });
    it.dataDir = join(it.folder, "closed", "postgres");
    const postgres = await it.start();
    expect(await queryOnce(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("begins anew where an earlier one died half-way", async () => {
    await mkdir(join(it.dataDir, "data.new"), { recursive: true });
    await writeFile(join(it.dataDir, "data.new", "PG_VERSION"), "18\n");
    await writeFile(join(it.dataDir, "server.json"), '{"port":29999,"password":"kept"}\n');
    const postgres = await it.start();
    expect(new URL(postgres.url).password).toBe("kept");
    expect(await queryOnce(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("takes nothing from a strange environment", async () => {
    const owner = await startOwner(it.dataDir, {
      env: { LC_ALL: "xx", LANG: "yy", PGDATA: "/nowhere", PGPORT: "1", TZ: "Mars/Base" },
    });
    it.atEnd(() => owner.stop());
    expect(owner.said).toMatchObject({ adopted: false });
    expect(await queryOnce(owner.said.url ?? "", "SHOW server_encoding")).toEqual([
      { server_encoding: "UTF8" },
    ]);
  });

  test("puts a table without a schema where any other server puts it", async () => {
    const postgres = await it.start();
    await queryOnce(postgres.url, "CREATE SCHEMA millrace; CREATE TABLE own (n int)");
    const rows = await queryOnce(
      postgres.url,
      "SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'own'",
    );
    expect(rows).toEqual([{ schema: "public" }]);
  });
});

const NOBODY = 65_534;

// The other user must be able to read this clone, to run what was built in it.
describe.runIf(process.getuid?.() === 0)("an ordinary user", () => {
  test("has a server of its own, without a home or a locale", async (context) => {
    if (!(await othersCanEnter(import.meta.dirname))) {
      context.skip("this clone lies where uid 65534 cannot read it");
    }
    await chown(it.folder, NOBODY, NOBODY);
    const env = { HOME: "/nonexistent", LC_ALL: "xx" };
    const first = await startOwner(it.dataDir, { uid: NOBODY, env });
    expect(first.said).toMatchObject({ adopted: false });
    expect((await stat(it.dataDir)).uid).toBe(NOBODY);
    await first.kill();
    const second = await startOwner(it.dataDir, { uid: NOBODY, env });
    it.atEnd(() => second.stop());
    expect(second.said).toMatchObject({ adopted: true, pid: first.said.pid });
  });
});

async function othersCanEnter(path: string): Promise<boolean> {
  if (((await stat(path)).mode & 0o001) === 0) return false;
  return path === dirname(path) || othersCanEnter(dirname(path));
}
