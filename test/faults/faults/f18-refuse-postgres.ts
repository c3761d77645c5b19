import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Fault } from "./fault.ts";

/** F18: Postgres is up and takes no writes, or no further connections. */
export const refusePostgres: Fault = {
  id: "F18",
  title: "Postgres read-only, or out of connections",
  uses: ["postgres"],
  ways: {
    "read-only": async ({ stage, random }) => {
      const { database } = stage;
      await database.query("alter system set default_transaction_read_only = on");
      await database.query("select pg_reload_conf()");
      stage.strike("F18", "Postgres read-only");
      await sleep(random.between(1_000, 5_000));
      await database.query("alter system reset default_transaction_read_only");
      await database.query("select pg_reload_conf()");
    },
    connections: async ({ stage, random }) => {
      // Once all are taken, this harness could get none itself.
      const own = await stage.database.connect();
      const taken = [await takeConnections(stage.ground.postgres.url)];
      try {
        // Those that the roles have already are ended, so that they need new ones.
        await own.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'millrace-%'",
        );
        taken.push(await takeConnections(stage.ground.postgres.url));
        stage.strike("F18", `${taken.flat().length} connections taken, none left`);
        await sleep(random.between(1_000, 5_000));
      } finally {
        own.release();
        await Promise.all(taken.flat().map((client) => client.end()));
      }
    },
  },
};

/** As a superuser has some in reserve, all but those few that this harness goes on with. */
async function takeConnections(url: string): Promise<pg.Client[]> {
  const taken: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    try {
      await client.connect();
      taken.push(client);
    } catch {
      await client.end().catch(() => {});
      return taken;
    }
  }
}
