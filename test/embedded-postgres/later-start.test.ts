import { spawn } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { queryOnce } from "../support/query-once.ts";
import { close, onFolder } from "./on-folder.ts";
import { startOwner } from "./owner-process.ts";

const it = onFolder({ hasData: true });

describe("a later start", () => {
  test("finds the data, on the same port with the same password", async () => {
    const first = await it.start();
    await queryOnce(first.url, "CREATE TABLE kept (n int)");
    await first.stop();
    const second = await it.start();
    expect(second.url).toBe(first.url);
    expect(await queryOnce(second.url, "SELECT count(*)::int AS n FROM kept")).toEqual([{ n: 0 }]);
  });

  test("gives what a superuser's handlers made to a login that is no superuser", async () => {
    const first = await it.start();
    for (const text of [
      "REASSIGN OWNED BY millrace_app TO millrace",
      "ALTER DATABASE millrace OWNER TO millrace",
      "DROP ROLE millrace_app",
      "CREATE SCHEMA shop CREATE TABLE parts (id serial, t tsvector) CREATE VIEW seen AS SELECT 1 AS one",
      "CREATE TABLE shop.days (n int) PARTITION BY LIST (n)",
      "CREATE TABLE shop.day PARTITION OF shop.days FOR VALUES IN (1)",
      "CREATE TYPE shop.kind AS ENUM ('a'); CREATE TYPE shop.pair AS (a int, b int)",
      "CREATE FUNCTION shop.one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ]) {
      await queryOnce(first.url, text);
    }
    await first.stop();
    const { appUrl } = await it.start();
    const [login] = await queryOnce(
      appUrl,
      "SELECT rolsuper, rolcreaterole, rolreplication FROM pg_roles WHERE rolname = current_user",
    );
    expect(login).toEqual({ rolsuper: false, rolcreaterole: false, rolreplication: false });
    for (const text of [
      "ALTER TABLE shop.parts ADD COLUMN n int",
      "INSERT INTO shop.parts (n) SELECT shop.one()",
      "ALTER TYPE shop.kind ADD VALUE 'b'",
      "ALTER TYPE shop.pair ADD ATTRIBUTE c int; ALTER TABLE shop.day SET (fillfactor = 90)",
      "DROP SCHEMA shop CASCADE",
      "CREATE TABLE public.more ()",
    ]) {
      await queryOnce(appUrl, text);
    }
    await expect(queryOnce(appUrl, "SET session_replication_role = 'replica'")).rejects.toThrow(
      "permission denied",
    );
  });

  test("recovers from a postmaster that was killed, with what was committed", async () => {
    const first = await it.start();
    await queryOnce(first.url, "CREATE TABLE kept AS SELECT 7 AS n");
    await first.kill();
    await first.stop();
    const second = await it.start();
    expect(second.adopted).toBe(false);
    expect(await queryOnce(second.url, "SELECT n FROM kept")).toEqual([{ n: 7 }]);
  });

  test("ends what a killed postmaster left at work", async () => {
    const first = await it.start();
    const busy = queryOnce(first.url, "DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$");
    busy.catch(() => undefined);
    await expect
      .poll(() => queryOnce(first.url, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'DO %'"))
      .toHaveLength(1);
    await first.kill();
    await first.stop();
    const second = await it.start();
    expect(await queryOnce(second.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await expect(busy).rejects.toThrow("Connection terminated");
  });

  test("adopts the server of a process that was killed", async () => {
    const owner = await startOwner(it.dataDir);
    await owner.kill();
    const postgres = await it.start();
    expect(postgres).toMatchObject({ adopted: true, url: owner.said.url });
    expect(postgres.pid).toBe(owner.said.pid);
    await postgres.stop();
    await expect(queryOnce(postgres.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  test("can restart a server that it adopted", async () => {
    const owner = await startOwner(it.dataDir);
    await owner.kill();
    const postgres = await it.start();
    await postgres.restart();
    expect(postgres.pid).not.toBe(owner.said.pid);
    expect(await queryOnce(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("removes a pid file whose number is another process's by now", async () => {
    await (await it.start()).stop();
    const pidFile = join(it.dataDir, "data", "postmaster.pid");
    const { uid, gid } = await stat(join(it.dataDir, "data"));
    const stranger = spawn("sleep", ["600"], { uid, gid });
    it.atEnd(async () => stranger.kill());
    await writeFile(pidFile, `${stranger.pid}\n/proc/self/cwd\n1\n5432\n\n127.0.0.1\n`);
    const postgres = await it.start();
    expect(postgres.adopted).toBe(false);
    expect(await readFile(pidFile, "utf8")).toMatch(new RegExp(`^${postgres.pid}\n`));
  });

  test("moves to another port, and stays there, when a stranger has taken its own", async () => {
    const first = await it.start();
    await first.stop();
    const stranger = await it.listen(first.port);
    const second = await it.start();
    expect(second.port).not.toBe(first.port);
    await second.stop();
    await close(stranger);
    expect((await it.start()).port).toBe(second.port);
  });

  test("refuses a port that it was told to use and a stranger has taken", async () => {
    const port = await freePort();
    const stranger = await it.listen(port);
    await expect(it.start({ port })).rejects.toMatchObject({ code: "port_in_use" });
    await close(stranger);
    expect((await it.start({ port })).port).toBe(port);
  });

  test("says what to do when the password is gone", async () => {
    await (await it.start()).stop();
    await rm(join(it.dataDir, "server.json"));
    await expect(it.start()).rejects.toMatchObject({
      code: "postgres_not_started",
      message: expect.stringContaining("server.json"),
    });
  });

  test("says what Postgres said when it does not start", async () => {
    await expect(it.start({ settings: { shared_buffers: "lots" } })).rejects.toMatchObject({
      code: "postgres_not_started",
      message: expect.stringMatching(/DATABASE_URL[\s\S]*shared_buffers/),
    });
  });
});
