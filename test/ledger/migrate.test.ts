import { copyFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { checkSchema, migrate } from "@millrace/ledger";
import type pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { openForEach } from "../support/open-for.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { testPool } from "../support/ledger-fixture.ts";
import { until } from "../support/until.ts";

const FILES = new URL("../../packages/ledger/migrations/", import.meta.url);
const OURS = (await readdir(FILES)).map((file) => basename(file, ".sql")).toSorted();

const database = openForEach(scratchDatabase);
let pool: pg.Pool;
let folder: string;
beforeEach(() => {
  pool = testPool(database.url);
  folder = newFolder();
});
afterEach(() => pool.end());

const file = (name: string, text: string) => writeFile(join(folder, name), text);
const mine = () => ({ pool, scope: "store", folder });

describe("migrate", () => {
  test("builds the ledger once, and then finds it done", async () => {
    expect(await migrate({ pool })).toEqual(OURS);
    expect(await migrate({ pool })).toEqual([]);
    await checkSchema(pool);
    const { rows } = await pool.query(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'millrace.bodies'::regclass",
    );
    expect(rows).toHaveLength(15);
  });

  test("of many migrators at once one does it, and the others wait and find it done", async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => migrate({ pool })));
    expect(results.filter((names) => names.length > 0)).toEqual([OURS]);
  });

  test("waits for an attempt that holds its row and goes on to change it", async () => {
    for (const name of OURS) {
      await copyFile(new URL(`${name}.sql`, FILES), join(folder, `${name}.sql`));
    }
    await migrate({ pool, folder });
    await file("9999_more.sql", "ALTER TABLE millrace.events ADD COLUMN more integer");
    await pool.query(
      `INSERT INTO millrace.events (received_at, body_id, generation, unsigned, source, event_id, type, body_hash)
       VALUES (now(), 1, 0, false, 'shop', 'evt_1', 't', '')`,
    );
    const attempt = await pool.connect();
    try {
      await attempt.query("BEGIN; SELECT FROM millrace.events FOR UPDATE");
      const migrating = migrate({ pool, folder });
      await until(async () => {
        const waiting = await pool.query(
          "SELECT FROM pg_locks WHERE NOT granted AND relation = 'millrace.events'::regclass",
        );
        return waiting.rowCount === 1;
      });
      await attempt.query("UPDATE millrace.events SET attempts = attempts + 1; COMMIT");
      expect(await migrating).toEqual(["9999_more"]);
    } finally {
      attempt.release();
    }
  });

  test("applies a user's folder under a scope of its own, in order of numbers", async () => {
    await migrate({ pool });
    await file("0002_add.sql", "ALTER TABLE t ADD b int");
    await file(
      "0001_make.sql",
      "CREATE TABLE t (a int); -- two statements\nINSERT INTO t VALUES (1);",
    );
    await file("notes.txt", "not a migration");
    expect(await migrate(mine())).toEqual(["0001_make", "0002_add"]);
    expect((await pool.query("SELECT a, b FROM t")).rows).toEqual([{ a: 1, b: null }]);
    await checkSchema(pool, mine());
    // One that was merged late, behind one with a higher number.
    await file("0000_first.sql", "CREATE TABLE first ()");
    expect(await migrate(mine())).toEqual(["0000_first"]);
  });

  test("applies all of it or nothing, and names the file that failed", async () => {
    await file("0001_good.sql", "CREATE TABLE good ()");
    for (const [wrong, line, reason] of [
      ["CREATE TABLE bad (\n  x nonsense\n)", 2, 'type "nonsense" does not exist'],
      ["-- ;\nSELECT ';';\n\n-- Then:\nSELECT 1 / 0", 5, "division by zero"],
      ["DO $x$ BEGIN\nNULL; END $x$;\n\nDO $$ BEGIN\nPERFORM 1 / 0; END $$", 4, "division by zero"],
    ] as const) {
      await file("0002_bad.sql", wrong);
      const place = `(${join(folder, "0002_bad.sql")}:${line})`;
      await expect(migrate(mine())).rejects.toMatchObject({
        code: "invalid_config",
        message: `Cannot apply migration 2 "bad" of "store": ${reason} ${place}`,
      });
    }
    expect((await pool.query("SELECT to_regclass('good') AS good")).rows).toEqual([{ good: null }]);
    await file("0002_bad.sql", "CREATE TABLE bad ()");
    expect(await migrate(mine())).toEqual(["0001_good", "0002_bad"]);
  });

  test("refuses a file that was changed after it was applied, but not its line ends", async () => {
    await file("0001_make.sql", "CREATE TABLE t (\n a int\n)");
    await migrate(mine());
    await file("0001_make.sql", "CREATE TABLE t (\r\n a int\r\n)");
    expect(await migrate(mine())).toEqual([]);
    await file("0001_make.sql", "CREATE TABLE t (a bigint)");
    await expect(migrate(mine())).rejects.toMatchObject({ code: "migration_changed" });
    await expect(checkSchema(pool, mine())).rejects.toMatchObject({ code: "migration_changed" });
  });

  test("works on a database with a migration of a later build, and refuses one that it misses among its own", async () => {
    for (const n of [1, 2, 3]) await file(`000${n}_t${n}.sql`, `CREATE TABLE t${n} ()`);
    await migrate(mine());
    await rm(join(folder, "0003_t3.sql"));
    expect(await migrate(mine())).toEqual([]);
    await checkSchema(pool, mine());
    await rm(join(folder, "0001_t1.sql"));
    await expect(checkSchema(pool, mine())).rejects.toMatchObject({ code: "migration_unknown" });
    await expect(migrate(mine())).rejects.toMatchObject({ code: "migration_unknown" });
  });

  test("refuses a file that ends the transaction, and folders that are none", async () => {
    await file("0001_sly.sql", "CREATE TABLE t (); COMMIT; BEGIN; SELECT 1");
    await expect(migrate(mine())).rejects.toMatchObject({ code: "invalid_config" });
    await file("0001_twin.sql", "SELECT 1");
    await expect(migrate(mine())).rejects.toThrow(/two have the number 1/);
    await file("unnumbered.sql", "SELECT 1");
    await expect(migrate(mine())).rejects.toThrow(/unnumbered.sql/);
    await expect(migrate({ ...mine(), folder: join(folder, "none") })).rejects.toThrow(/no folder/);
  });
});

test("checkSchema says that a migration is needed, on an empty database too", async () => {
  const needed = { code: "migration_needed" };
  await expect(checkSchema(pool)).rejects.toMatchObject(needed);
  await migrate({ pool });
  await pool.query("DELETE FROM millrace.migrations");
  await expect(checkSchema(pool)).rejects.toMatchObject(needed);
});

describe("The view webhook_events", () => {
  const columns = async (schema: string) => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = $1 AND table_name = 'webhook_events' ORDER BY ordinal_position`,
      [schema],
    );
    return rows.map((row) => row.name);
  };

  test("stands in public and in millrace, with the columns that were promised", async () => {
    await migrate({ pool });
    const promised = [
      ...["source", "event_id", "generation", "type", "status", "outcome", "attempts", "payload"],
      ...["received_at", "processed_at", "last_error"],
    ];
    expect(await columns("public")).toEqual(expect.arrayContaining(promised));
    expect(await columns("millrace")).toEqual(await columns("public"));
  });

  test.each([
    ["CREATE TABLE webhook_events (mine int)", ["mine"]],
    ["DROP SCHEMA public", []],
  ])(
    "stands in millrace alone where public has the name already, or is not there: %s",
    async (statement, left) => {
      await pool.query(statement);
      await migrate({ pool });
      expect(await columns("public")).toEqual(left);
      expect(await columns("millrace")).toContain("payload");
    },
  );
});
