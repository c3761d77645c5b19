import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { createPipeline, type Pipeline } from "../support/pipeline.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { queryOnce } from "../support/query-once.ts";
import { millrace } from "../support/run-in-process.ts";
import {
  migratedDatabase,
  scratchDatabase,
  type TestDatabase,
} from "../support/scratch-database.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const FIX = "Name a standby of DATABASE_URL's server, or remove DATABASE_READ_URL";
const ANOTHER_SERVER = /DATABASE_READ_URL names another server than a standby of DATABASE_URL's/;

describe("a DATABASE_READ_URL that names no copy of the primary", () => {
  let own: TestDatabase;
  let beside: TestDatabase;
  let another: TestPostgres;
  let pipeline: Pipeline;
  beforeAll(async () => {
    [own, beside, another] = await Promise.all([
      migratedDatabase(),
      scratchDatabase(),
      startPostgres(),
    ]);
    pipeline = await createPipeline({ databaseUrl: own.url, redisUrl: undefined });
    // The database of the other server has the name of the primary's.
    const name = new URL(own.url).pathname.slice(1);
    await queryOnce(another.url, `CREATE DATABASE ${name}`);
  });
  afterAll(async () => {
    await pipeline?.stop();
    await Promise.all([own?.drop(), beside?.drop(), another?.stop()]);
  });

  /** The primary's database by name, on the other server. */
  function elsewhere(login?: string): string {
    const url = new URL(another.url);
    url.pathname = new URL(own.url).pathname;
    if (login !== undefined) [url.username, url.password] = [login, "a-password"];
    return url.href;
  }

  const run = (command: string, readUrl: string) =>
    millrace([command], { env: { ...pipeline.env, DATABASE_READ_URL: readUrl } });

  test("keeps a dashboard from starting, with the setting and the fix named", async () => {
    const starting = pipeline.startInProcess("dashboard", { DATABASE_READ_URL: elsewhere() });
    const error: unknown = await starting.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "read_url_mismatch" });
    expect(String(error)).toMatch(ANOTHER_SERVER);
    expect(String(error)).toContain(FIX);
  });

  test("keeps a command from listing, also where it names another database of the same server", async () => {
    const { code, stderr } = await run("events", elsewhere());
    expect([code, stderr]).toEqual([1, expect.stringMatching(ANOTHER_SERVER)]);
    expect(stderr).toContain("(read_url_mismatch)");
    const aside = await run("events", beside.url);
    expect(aside.stderr).toMatch(
      /DATABASE_READ_URL names the database "scratch_\w+", and DATABASE_URL "/,
    );
    expect([aside.code, aside.stderr]).toEqual([1, expect.stringContaining(FIX)]);
  });

  test("is named by the doctor", async () => {
    const { stdout } = await run("doctor", elsewhere());
    expect(stdout).toMatch(/^BAD +lists +DATABASE_READ_URL names another server/m);
    expect(stdout).toContain(`fix: ${FIX}`);
  });

  test("is not refused for a system identifier that a login may not read", async () => {
    await queryOnce(another.url, "CREATE ROLE narrow LOGIN PASSWORD 'a-password'");
    await queryOnce(elsewhere(), "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    const { stdout } = await run("doctor", elsewhere("narrow"));
    expect(stdout).toMatch(/^note +lists +DATABASE_READ_URL names a server that is no standby$/m);
  });

  test("gives no list to a dashboard that started while nothing answered there", async () => {
    const nobody = `postgres://nobody@127.0.0.1:${await freePort()}/nowhere`;
    const proxy = await startTcpProxy(nobody);
    try {
      const url = new URL(elsewhere());
      url.port = new URL(proxy.url).port;
      const dashboard = await pipeline.startInProcess("dashboard", { DATABASE_READ_URL: url.href });
      const statusOfLists = async () => (await fetch(`${dashboard.url}/api/events`)).status;
      expect(await statusOfLists()).toBe(200);
      proxy.retarget(another.url);
      // The other server has no such tables: a list from it would fail.
      const asked = () =>
        queryOnce(
          another.url,
          "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'millrace-dashboard-lists%'",
        );
      await until(
        async () => {
          expect(await statusOfLists()).toBe(200);
          return (await asked()).length > 0;
        },
        { what: "the dashboard ask the standby again" },
      );
      expect(await statusOfLists()).toBe(200);
      await dashboard.close();
    } finally {
      await proxy.close();
    }
  });
});
