import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { createLedger, migrate } from "@millrace/ledger";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { describeOnStandby } from "../support/describe-on-servers.ts";
import { anEvent } from "../support/events.ts";
import { postgresProgramsPath, startInstalledPostgres } from "../support/postgres-standby.ts";
import { queryOnce, withPool } from "../support/query-once.ts";

// The commands of docs/backup-and-restore.md, as they stand there, by the programs of one Postgres.

const run = promisify(execFile);
const PAGE = new URL("../../docs/backup-and-restore.md", import.meta.url);

async function commandsOf(heading: string): Promise<string[]> {
  const page = await readFile(PAGE, "utf8");
  const section = page.split(/^## /m).find((each) => each.startsWith(heading)) ?? "";
  return [...section.matchAll(/```sh\n([^`]+)```/g)].map(([, text = ""]) => text);
}

describeOnStandby("a dump of pg_dump", () => {
  let postgres: Awaited<ReturnType<typeof startInstalledPostgres>>;
  const folder = newFolder();
  let url: string;
  let dump: string;
  let restores: string[];

  beforeAll(async () => {
    postgres = await startInstalledPostgres();
    const at = new URL(postgres.url);
    at.pathname = "/app";
    url = at.href;
    [dump = ""] = await commandsOf("What to back up");
    restores = await commandsOf("Restore Postgres");
  });
  afterAll(() => postgres?.stop());

  const shell = (commands: string) => {
    const { hostname, port } = new URL(url);
    const env = {
      PATH: `${postgresProgramsPath()}:${process.env["PATH"]}`,
      ...{ PGHOST: hostname, PGPORT: port, PGUSER: "postgres", DATABASE_URL: url },
    };
    return run("sh", ["-euc", commands], { cwd: folder, env });
  };
  const migrateApp = () => withPool(url, (pool) => migrate({ pool }));
  const accept = (...ids: readonly string[]) =>
    withPool(url, (pool) =>
      createLedger({ pool }).intake.accept(ids.map((eventId) => anEvent({ eventId }))),
    );
  const contents = async () => {
    const [events, rows, later] = await Promise.all([
      queryOnce(
        url,
        `SELECT event_id AS id FROM millrace.events
         JOIN millrace.bodies ON day = body_day AND id = body_id ORDER BY event_id`,
      ),
      queryOnce(url, "SELECT id FROM app.orders ORDER BY id"),
      queryOnce(
        url,
        "SELECT relname AS id FROM pg_class WHERE relname IN ('added', 'bodies_29991231')",
      ),
    ]);
    const idsOf = (found: readonly Record<string, unknown>[]) => found.map(({ id }) => id);
    return { events: idsOf(events), orders: idsOf(rows), later: idsOf(later) };
  };
  const DUMPED = { events: ["evt_1", "evt_2"], orders: ["evt_1"], later: [] };

  beforeEach(async () => {
    await postgres.query("DROP DATABASE IF EXISTS app WITH (FORCE)");
    await postgres.query("CREATE DATABASE app");
    await migrateApp();
    await queryOnce(url, "CREATE SCHEMA app CREATE TABLE orders (id text PRIMARY KEY)");
    await accept("evt_1", "evt_2");
    await queryOnce(url, "INSERT INTO app.orders VALUES ('evt_1')");
    await shell(dump);
    await accept("evt_3");
    await queryOnce(url, "INSERT INTO app.orders VALUES ('evt_3')");
    await queryOnce(url, "CREATE TABLE millrace.added (id text)");
    await queryOnce(
      url,
      "CREATE TABLE millrace.bodies_29991231 PARTITION OF millrace.bodies FOR VALUES FROM ('2999-12-31') TO ('3000-01-01')",
    );
  });

  test.each([
    ["a new database", 0, "DROP DATABASE app WITH (FORCE)"],
    ["the database that was dumped, in its place", 1, "SELECT"],
    ["a database whose schemas are dropped first", 2, "SELECT"],
  ])("is restored into %s", async (_what, command, before) => {
    await postgres.query(before);
    await shell(restores[command] ?? "");
    expect(await contents()).toEqual(DUMPED);
    expect(await migrateApp()).toEqual([]);
    await accept("evt_2", "evt_3");
    expect((await contents()).events).toEqual(["evt_1", "evt_2", "evt_3"]);
  });

  test("is refused by --clean alone, which changes nothing", async () => {
    const before = await contents();
    const restored = shell(
      'pg_restore --clean --if-exists --exit-on-error -d "$DATABASE_URL" app.dump',
    );
    await expect(restored).rejects.toThrow(/cannot drop inherited constraint "bodies_\d+_pkey"/);
    expect(await contents()).toEqual(before);
  });

  test("leaves what is later with --clean and without --exit-on-error", async () => {
    const restored = shell('pg_restore --clean --if-exists -d "$DATABASE_URL" app.dump');
    await expect(restored).rejects.toThrow(/cannot drop schema millrace because other objects/);
    expect(await contents()).toEqual({ ...DUMPED, later: ["added"] });
  });
});
