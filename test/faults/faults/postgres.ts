import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { queryOnce } from "../../support/query-once.ts";
import { until } from "../../support/until.ts";
import { keyOf } from "../load/client-log.ts";
import { breakNetwork } from "./break-network.ts";
import { readJobs } from "./empty-queue.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

const TERMINATE = `
select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
where application_name like 'millrace-%' and random() < 0.5`;

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

// Postgres dies, and a standby that streams from it is promoted under another address.

/** F31: each commit has waited for the standby. Nothing may be lost, and nothing is excused. */
export const failOverPostgres: Fault = {
  id: "F31",
  title: "failover of Postgres to a synchronous standby",
  uses: ["redis", "postgres"],
  ways: {
    synchronous: async (context) => {
      const { lost } = await failOver(context, "synchronous");
      context.environment.strike("F31", `Postgres failed over; ${lost.length} commits unanswered`);
    },
  },
};

/** F32: the standby has nothing of the last seconds. Only what nothing else has may be lost: events without a job. */
export const failOverPostgresBehind: Fault = {
  id: "F32",
  title: "failover of Postgres to a standby that is seconds behind",
  uses: ["redis", "postgres"],
  // Of all that was delivered before it, nobody can say any longer how often it was attempted.
  byName: true,
  ways: {
    behind: async (context) => {
      const { environment, log } = context;
      const { lost, completed } = await failOver(context, "behind");
      const jobs = await readJobs(environment);
      const alone = lost.filter((key) => !jobs.has(key));
      for (const key of alone) environment.excused.add(key);
      for (const key of log.accounts.keys()) environment.undone.add(key);
      environment.strike(
        "F32",
        `Postgres failed over; ${lost.length} events gone, ${alone.length} of them without a job, ` +
          `${completed} completed ones undone`,
      );
    },
  },
};

async function failOver(
  { environment, random }: FaultContext,
  how: "synchronous" | "behind",
): Promise<{ lost: readonly string[]; completed: number }> {
  const { servers } = environment;
  const standby = await servers.startStandby();
  try {
    if (how === "synchronous") await standby.makeSynchronous();
    else standby.link.freeze();
    await sleep(random.between(1_000, 3_000));
    const { had, has } = await servers.failOver(standby, readEvents);
    const undone = [...had].filter(([key, status]) => has.get(key) !== status);
    return {
      lost: [...had.keys()].filter((key) => !has.has(key)),
      completed: undone.filter(([, status]) => status === "completed").length,
    };
  } finally {
    await standby.link.close();
    if (servers.postgres !== standby.server) await standby.server.stop("immediate");
  }
}

export async function readEvents(url: string): Promise<Map<string, string>> {
  const rows = await queryOnce<{ source: string; id: string; status: string }>(
    url,
    "select source, event_id as id, status from millrace.events where generation = 0",
  );
  return new Map(rows.map((row) => [keyOf(row), row.status]));
}

const run = promisify(execFile);

const REPAIR_MS = 120_000;
const SETTLED_MS = 5_000;
const ENDED = `millrace.events
  where status <> 'pending' and parent_event_id is null and received_at <= to_timestamp($1 / 1000.0)`;

/** F28: Postgres is put back to a copy of some seconds ago, and Redis is not. */
export const restorePostgres: Fault = {
  id: "F28",
  title: "Postgres restored to an earlier time under load",
  uses: ["postgres", "worker"],
  // With the ledger first, only Postgres had the bodies of those seconds.
  applies: ({ backend, ack }) => backend === "redis" && ack === "queue",
  // Of all that was delivered before it, nobody can say any longer how often it was attempted.
  byName: true,
  ways: {
    restored: async ({ environment, random, log }) => {
      const { servers, folder } = environment;
      const data = servers.postgres.dataDir;
      const backup = join(folder, "postgres-backup");
      await sleep(random.between(2_000, 4_000));
      await servers.postgres.kill();
      await rm(backup, { recursive: true, force: true });
      await run("cp", ["-a", data, backup]);
      await servers.restartPostgres();
      const backedUpAtMs = Date.now();
      await sleep(random.between(8_000, 15_000));
      const arrivedByMs = Date.now() - SETTLED_MS;
      const ended = () => environment.count(ENDED, [arrivedByMs]);
      const before = await environment.count(ENDED, [backedUpAtMs]);
      const after = await ended();
      await servers.postgres.kill();
      await rm(data, { recursive: true, force: true });
      await run("cp", ["-a", backup, data]);
      for (const key of log.accounts.keys()) environment.undone.add(key);
      await servers.restartPostgres();
      environment.strike("F28", `Postgres restored: ${after - before} ended events undone`);
      await until(async () => (await ended()) >= after, { withinMs: REPAIR_MS });
    },
  },
};
