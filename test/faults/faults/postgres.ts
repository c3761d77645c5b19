import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { breakNetwork } from "./break-network.ts";
import type { Fault, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

const TERMINATE = `
select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
where application_name like 'millrace-%' and random() < 0.5`;

/** F14: Postgres is restarted, is killed, or ends connections in the middle of handlers. */
export const restartPostgres: Fault = {
  id: "F14",
  title: "Postgres restarted or killed; backends terminated",
  uses: ["postgres"],
  ways: {
    terminate: async ({ environment }) => {
      const { rows } = await environment.database.query(TERMINATE);
      environment.strike("F14", `${rows[0].ended} backends terminated`);
    },
    restart: async ({ environment }) => {
      environment.strike("F14", "Postgres restarted");
      await environment.servers.restartPostgres();
    },
    kill: async ({ environment, random }) => {
      await environment.servers.postgres.kill();
      environment.strike("F14", "Postgres killed");
      await sleep(random.between(0, 2_000));
      await environment.servers.restartPostgres();
    },
  },
};

/** F15: the connection is cut when COMMIT is on its way: nobody knows whether it was done. */
export const cutCommit: Fault = {
  id: "F15",
  title: "Postgres cut at COMMIT, before or after the server has it",
  uses: ["postgres"],
  ways: { after: cut("after"), before: cut("before") },
};

function cut(when: "after" | "before"): Way {
  return async ({ environment, random }) => {
    const proxy = environment.servers.toPostgres.worker;
    for (let n = random.between(1, 4); n > 0; n -= 1) {
      const before = proxy.struck;
      if (when === "after") proxy.cutAfter("COMMIT");
      else proxy.cutBefore("COMMIT");
      if (!(await reached(() => proxy.struck > before))) return;
      environment.strike("F15", `cut ${when} a COMMIT came`);
    }
  };
}

/** F16: BEGIN or ROLLBACK fails, or the way to Postgres is a black hole, slow, cut or refused. */
export const hangPostgres: Fault = {
  id: "F16",
  title: "BEGIN or ROLLBACK cut; Postgres a black hole, slow, cut or refused",
  uses: ["postgres"],
  ways: {
    begin: cutAt("BEGIN"),
    rollback: cutAt("ROLLBACK"),
    ...breakNetwork("F16", "Postgres", ({ servers }) => servers.toPostgres),
  },
};

function cutAt(statement: string): Way {
  return async ({ environment }) => {
    const proxy = environment.servers.toPostgres.worker;
    const before = proxy.struck;
    proxy.cutBefore(statement);
    if (await reached(() => proxy.struck > before))
      environment.strike("F16", `cut at ${statement}`);
  };
}

/** F18: Postgres is up and takes no writes, or no further connections. */
export const refusePostgres: Fault = {
  id: "F18",
  title: "Postgres read-only, or out of connections",
  uses: ["postgres"],
  ways: {
    "read-only": async ({ environment, random }) => {
      const { database } = environment;
      await database.query("alter system set default_transaction_read_only = on");
      await database.query("select pg_reload_conf()");
      environment.strike("F18", "Postgres read-only");
      await sleep(random.between(1_000, 5_000));
      await database.query("alter system reset default_transaction_read_only");
      await database.query("select pg_reload_conf()");
    },
    connections: async ({ environment, random }) => {
      // Once all are taken, this harness could get none itself.
      const own = await environment.database.connect();
      const taken = [await takeConnections(environment.urls.databaseUrl)];
      try {
        // Those that the roles have already are ended, so that they need new ones.
        await own.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'millrace-%'",
        );
        taken.push(await takeConnections(environment.urls.databaseUrl));
        environment.strike("F18", `${taken.flat().length} connections taken, none left`);
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
