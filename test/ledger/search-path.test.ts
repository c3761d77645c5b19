import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { misplacedTables, migrate, USER_SCOPE } from "@millrace/ledger";
import { sql } from "drizzle-orm";
import { describe, expect, onTestFinished, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { openTestLedger, type TestLedger, testPool, useLedger } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";
import { WAYS } from "./attempt-fixture.ts";

// The tests' login is named `millrace`: by the default of Postgres, which the embedded one does not have, its own
// schema comes first, and that is ours.
const direct = useLedger();
const it = openForAll(() => openTestLedger({ url: withPath('"$user", public') }));

function withPath(path: string): string {
  const url = new URL(direct.url);
  url.searchParams.set("options", `-c search_path=${path.replaceAll(" ", "\\ ")}`);
  return url.href;
}

test("a statement of the login, without more, makes a table among ours", async () => {
  expect(await it.ask("SELECT current_schema AS schema")).toEqual([{ schema: "millrace" }]);
});

async function schemaOf(name: string): Promise<string | undefined> {
  const [row] = await it.ask<{ schema: string }>(
    "SELECT relnamespace::regnamespace::text AS schema FROM pg_class WHERE relname = $1",
    [name],
  );
  return row?.schema;
}

async function migrateFile(text: string, url = it.url): Promise<void> {
  const folder = newFolder();
  await writeFile(join(folder, "0001_make.sql"), text);
  const pool = testPool(url, 2);
  onTestFinished(() => pool.end());
  await it.ask("DELETE FROM millrace.migrations WHERE scope = $1", [USER_SCOPE]);
  await migrate({ pool, scope: USER_SCOPE, folder });
}

describe.each(Object.entries(WAYS))("in %s", (_, way) => {
  const run = async ({ ledger }: TestLedger, work: Parameters<typeof way>[1]) =>
    expect(await way(ledger, work)).toBe("completed");

  test("a table without a schema is made in public", async () => {
    await run(it, (tx) => tx.execute(sql`create table made_by_handler ()`));
    expect(await schemaOf("made_by_handler")).toBe("public");
    await it.ask("DROP TABLE public.made_by_handler");
  });

  test("a table of the handlers' is not taken for one of ours that has its name", async () => {
    await it.ask("CREATE TABLE public.sessions (note text)");
    onTestFinished(async () => void (await it.ask("DROP TABLE public.sessions")));
    await run(it, (tx) => tx.execute(sql`insert into sessions (note) values ('mine')`));
    expect(await it.ask("SELECT note FROM public.sessions")).toEqual([{ note: "mine" }]);
  });

  test("a table that an earlier build let handlers make among ours is still found", async () => {
    await it.ask("CREATE TABLE millrace.of_before (note text)");
    onTestFinished(async () => void (await it.ask("DROP TABLE millrace.of_before")));
    await run(it, (tx) => tx.execute(sql`insert into of_before (note) values ('kept')`));
    expect(await it.ask("SELECT note FROM millrace.of_before")).toEqual([{ note: "kept" }]);
  });

  test("the path of the URL is kept", async () => {
    const other = await openTestLedger({ url: withPath("millrace,public") });
    onTestFinished(() => other.close());
    await run(other, async (tx) => {
      const { rows } = await tx.execute(sql`select current_setting('search_path') as path`);
      expect(rows).toEqual([{ path: "millrace,public" }]);
    });
  });
});

test("a migration of the user makes its tables in public, or where the URL says", async () => {
  await migrateFile("CREATE TABLE by_migration (); CREATE TABLE sessions ();");
  expect(await schemaOf("by_migration")).toBe("public");
  await it.ask("CREATE SCHEMA shop; DROP TABLE public.sessions");
  await migrateFile("CREATE TABLE by_url ()", withPath("shop"));
  expect(await schemaOf("by_url")).toBe("shop");
});

test("what is not ours in our schema is found, and nothing of ours is", async () => {
  await it.ledger.claims.ping();
  expect(await misplacedTables(it.pool)).toEqual([]);
  await it.ask("CREATE TABLE millrace.orders (); CREATE VIEW millrace.all_orders AS SELECT 1");
  expect(await misplacedTables(it.pool)).toEqual(["all_orders", "orders"]);
  await it.ask("DROP TABLE millrace.orders; DROP VIEW millrace.all_orders");
});
