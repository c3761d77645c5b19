import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONFIG, createTwoStorePipeline, deliver } from "../integration/two-stores.ts";
import { age } from "../support/aged-events.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import {
  startGuardedServers,
  type GuardedServers,
  type Login,
} from "../support/least-privilege.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { readMetric } from "../support/metrics.ts";
import type { Pipeline } from "../support/pipeline.ts";
import { queryOnce, withPool } from "../support/query-once.ts";
import { describeOnRedis } from "../support/redis.ts";
import { millrace, type Outcome } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";

// Each role under the login of infra/postgres/roles.sql and the user of infra/redis/users.acl: the whole story of an
// event runs. What a login may not: beyond-a-role.test.ts; what a user of Redis may not: redis-users.test.ts.

const TYPE = "thing.happened";

function story(onRedis: boolean): void {
  let servers: GuardedServers;
  let pipeline: Pipeline;
  let ingress: RoleInProcess;
  let dashboard: RoleInProcess;

  function run(login: Login, ...args: string[]): Promise<Outcome> {
    return millrace(args, { env: { ...pipeline.env, ...variablesOf(login) } });
  }

  function variablesOf(login: Login): Record<string, string> {
    const user = login === "owner" || login === "retention" ? "admin" : login;
    const redisUrl = servers.redisUrl(user);
    return {
      DATABASE_URL: servers.databaseUrl(login),
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    };
  }

  async function rowOf(id: string) {
    const { rows } = await pipeline.database.query<{ status: string; generation: number }>(
      `select status, generation, outcome, (select count(*)::int from effects where event_id = $1) as effects
         from millrace.events where event_id = $1 order by generation desc limit 1`,
      [id],
    );
    return rows[0];
  }

  const untilRow = (id: string, wanted: Readonly<Record<string, unknown>>) =>
    until(
      async () => {
        const row = await rowOf(id);
        expect(row).toMatchObject(wanted);
        return true;
      },
      { what: `${id} be ${JSON.stringify(wanted)}` },
    );

  beforeAll(async () => {
    servers = await startGuardedServers({ onRedis });
    if (!onRedis) {
      // A database that has been used with one login for everything, as one that is upgraded has.
      const env = { MILLRACE_CONFIG: CONFIG, DATABASE_URL: servers.postgres.url };
      expect(await millrace(["migrate"], { env })).toMatchObject({ code: 0, stderr: "" });
    }
    await servers.grant("public");
    if (!onRedis) {
      // As docs/logins.md has it for tables that later migrations change.
      for (const table of ["effects", "switches"]) {
        await queryOnce(servers.postgres.url, `alter table ${table} owner to millrace_owner`);
      }
    }
    const redisUrl = servers.redisUrl("admin");
    pipeline = await createTwoStorePipeline({
      databaseUrl: servers.databaseUrl("owner"),
      ...(redisUrl !== undefined && { redisUrl }),
    });
    expect(await run("owner", "migrate")).toMatchObject({ code: 0, stderr: "" });
    await servers.grant("public");
    ingress = await pipeline.startInProcess("ingress", variablesOf("ingress"));
    await pipeline.startInProcess("worker", {
      ...variablesOf("worker"),
      RETENTION_DATABASE_URL: servers.databaseUrl("retention"),
    });
    dashboard = await pipeline.startInProcess("dashboard", variablesOf("dashboard"));
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.stop();
  });

  test.each(["fast", "safe"])("events of %s are received and handled once", async (source) => {
    const ids = Array.from({ length: 5 }, (_, index) => `evt_${source}_${index}`);
    for (const id of ids) {
      expect((await deliver(ingress, source, { id, type: TYPE })).status).toBe(202);
    }
    for (const id of ids) await untilRow(id, { status: "completed", effects: 1 });
    const again = await deliver(ingress, source, { id: ids[0], type: TYPE });
    expect(again.status).toBe(200);
    await deliver(ingress, source, { id: ids[0], type: TYPE, other: true });
    await until(async () => {
      const { rows } = await pipeline.database.query(
        "select 1 from millrace.conflicts where event_id = $1",
        [ids[0]],
      );
      return rows.length > 0;
    });
    // Both repeats are counted by the ingress's own login, and shown by the dashboard's.
    await until(async () => {
      const answer = await fetch(`${dashboard.url}/api/events/${source}/${ids[0]}?body=false`);
      return ((await answer.json()) as { deliveries: { total: number } }).deliveries.total === 3;
    });
  });

  test("a failed event is retried: by its sender, from the dashboard, and by the command", async () => {
    const ways: Record<string, (id: string) => Promise<unknown>> = {
      sender: (id) => deliver(ingress, "safe", { id, type: TYPE, switch: id }),
      dashboard: (id) => postTo(`/api/events/fast/${id}/retry`),
      command: (id) => run("dashboard", "retry", "fast", id),
    };
    for (const [way, retry] of Object.entries(ways)) {
      const id = `evt_by_${way}`;
      const source = way === "sender" ? "safe" : "fast";
      await deliver(ingress, source, { id, type: TYPE, switch: id });
      await untilRow(id, { status: "failed" });
      await pipeline.database.query("insert into switches (name) values ($1)", [id]);
      await retry(id);
      await untilRow(id, { status: "completed", effects: 1 });
    }
  });

  test("somebody is on an error, and resolves it", async () => {
    const { rows } = await pipeline.database.query("select fingerprint from millrace.errors");
    const path = `/api/errors/${rows[0].fingerprint}`;
    for (const change of [{ mine: true }, { state: "resolved", note: "fixed" }]) {
      expect(await postTo(path, change)).toBe(200);
    }
    expect(await run("dashboard", "errors", rows[0].fingerprint, "--reopen")).toMatchObject({
      code: 0,
    });
  });

  test("a settled event is replayed, edited, and sent, one and many, and a body of another day is copied", async () => {
    await deliver(ingress, "fast", { id: "evt_replayed", type: TYPE });
    await untilRow("evt_replayed", { status: "completed" });
    expect(await postTo("/api/events/fast/evt_replayed/replay")).toBe(200);
    await untilRow("evt_replayed", { status: "completed", generation: 1, effects: 2 });
    const body = JSON.stringify({ id: "evt_edited", type: TYPE });
    expect(await postTo("/api/events/fast/evt_replayed/edit", { body })).toBe(200);
    await untilRow("evt_replayed.edited-1", { status: "completed" });
    await asSuperuser((database) => age(database, 3, "evt_replayed"));
    expect(await run("dashboard", "replay", "--source", "fast", "--type", TYPE)).toMatchObject({
      code: 0,
    });
    await untilRow("evt_replayed", { status: "completed", generation: 2, effects: 3 });
  });

  test("pending events are given up, one and many, and a bulk run is changed", async () => {
    await run("dashboard", "pause", "safe");
    const ids = [1, 2, 3].map((n) => `evt_hopeless_${n}`);
    for (const id of ids) {
      await deliver(ingress, "safe", { id, type: TYPE });
      await untilRow(id, { status: "pending" });
    }
    expect(await postTo("/api/events/safe/evt_hopeless_1/give-up")).toBe(200);
    expect(await run("dashboard", "give-up", "safe", "evt_hopeless_2")).toMatchObject({ code: 0 });
    const many = await run("dashboard", "give-up", "--q", "evt_hopeless_3");
    expect(many).toMatchObject({ code: 0, stdout: expect.stringContaining("1 given up") });
    await run("dashboard", "resume", "safe");
    for (const id of ids) await untilRow(id, { status: "failed" });
    const slow = ["--q", "evt_hopeless_", "--rate", "0.01", "--no-wait", "--json"];
    const { id } = JSON.parse((await run("dashboard", "retry", ...slow)).stdout);
    for (const change of [["pause"], ["rate", "0.02"], ["resume"], ["stop"]]) {
      const [act = "", ...rate] = change;
      const changed = await run("dashboard", "runs", act, String(id), ...rate);
      expect(changed).toMatchObject({ code: 0, stderr: "" });
    }
  });

  test("the reconciler gives a job back that the queue has lost", async () => {
    await run("dashboard", "pause", "safe");
    await deliver(ingress, "safe", { id: "evt_lost", type: TYPE });
    await untilRow("evt_lost", { status: "pending" });
    await loseQueue(servers.redisUrl("admin"), pipeline.database);
    await run("dashboard", "resume", "safe");
    await untilRow("evt_lost", { status: "completed", effects: 1 });
  });

  test("the retention drops old bodies, moves those that are needed, and deletes old events", async () => {
    await deliver(ingress, "fast", { id: "evt_old", type: TYPE });
    await deliver(ingress, "fast", { id: "evt_old_failed", type: TYPE, switch: "never" });
    await untilRow("evt_old", { status: "completed" });
    await untilRow("evt_old_failed", { status: "failed" });
    await asSuperuser(async (database) => {
      await age(database, 100, "evt_old");
      await age(database, 100, "evt_old_failed");
      await database.query(
        "update millrace.bulk_runs set finished_at = now() - interval '31 days'",
      );
    });
    // The days that a superuser made are the retention's with the next run of the file.
    await servers.grant("public");
    expect(await run("retention", "retention")).toMatchObject({ code: 0 });
    expect(await rowOf("evt_old")).toBeUndefined();
    const members = await pipeline.database.query("select from millrace.bulk_members");
    expect(members.rowCount).toBe(0);
    expect(await rowOf("evt_old_failed")).toMatchObject({ status: "failed" });
  });

  test("a day that is missing is made by whoever needs it, and belongs to the retention", async () => {
    for (const login of ["ingress", "worker", "dashboard"] as const) {
      const days = { ingress: 20, worker: 21, dashboard: 22 }[login];
      const [row] = await as(login, `select millrace.ensure_partitions(${days}) as made`);
      expect(Number(row?.["made"])).toBeGreaterThan(0);
    }
    const owners = await pipeline.database.query(
      `select distinct pg_get_userbyid(relowner) as owner from pg_class
        where relnamespace = 'millrace'::regnamespace and relname ~ '^bodies'
          and relkind in ('r', 'p')`,
    );
    expect(owners.rows).toEqual([{ owner: "millrace_retention" }]);
  });

  test("the worker's own retention has run, and nothing it did failed", async () => {
    const role = await pipeline.startInProcess("worker", {
      ...variablesOf("worker"),
      RETENTION_DATABASE_URL: servers.databaseUrl("retention"),
    });
    const success = "millrace_retention_last_success_timestamp_seconds";
    await until(async () => ((await readMetric(role.url, success)) ?? 0) > 0);
    expect(await readMetric(role.url, "millrace_retention_failures_total")).toBe(0);
    await role.close();
  });

  test("every role is ready and gives its metrics, and the dashboard's pages and views open", async () => {
    for (const path of ["/readyz", "/metrics"]) {
      for (const { url } of [ingress, dashboard]) {
        expect([path, await statusOf(`${url}${path}`)]).toEqual([path, 200]);
      }
    }
    const pages = [
      "/",
      "/queues",
      "/queues/api/queues",
      "/queues/api/queues?activeQueue=millrace-fast",
    ];
    const views = ["events", "stats", "activity", "disagreements", "audit", "runs", "openapi.json"];
    const event = "/api/events/fast/evt_replayed";
    for (const path of [...pages, ...views.map((view) => `/api/${view}`), event]) {
      expect([path, await statusOf(`${dashboard.url}${path}`)]).toEqual([path, 200]);
    }
    expect(await as("dashboard", "select payload from public.webhook_events limit 1")).toHaveLength(
      1,
    );
  });

  test("the commands that look work with the dashboard's login", async () => {
    expect(await run("dashboard", "events", "--limit", "3")).toMatchObject({ code: 0 });
    const { stdout } = await run("dashboard", "doctor");
    expect(stdout).not.toMatch(/^\?|permission|NOPERM/m);
    // Who holds connections is seen of every login, and so are the rights of each.
    expect(stdout).toMatch(/^ok +connections .*millrace-worker \d+/m);
    expect(stdout).toMatch(/^ok +rights +4 logins have those of their roles$/m);
    expect(await run("owner", "migrate", "--check")).toMatchObject({ code: 0 });
    // Again, on a database whose days belong to another login.
    expect(await run("owner", "migrate")).toMatchObject({ code: 0, stderr: "" });
  });

  test("nothing that a role did was refused", async () => {
    expect(await servers.postgres.log()).not.toMatch(/permission denied|must be owner/);
    if (onRedis) expect(await servers.refusedByRedis()).toEqual([]);
  });

  const as = (login: Login, text: string) => queryOnce(servers.databaseUrl(login), text);

  const asSuperuser = (use: Parameters<typeof withPool>[1]) => withPool(servers.postgres.url, use);

  function postTo(path: string, content: object = {}): Promise<number> {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(content);
    return statusOf(`${dashboard.url}${path}`, { method: "POST", headers, body });
  }
}

async function statusOf(url: string, request?: RequestInit): Promise<number> {
  const response = await fetch(url, request);
  await response.arrayBuffer();
  return response.status;
}

describeOnRedis("each role has its own login and its own Redis user", () => {
  story(true);
});
describe("each role has its own login, with the queue on Postgres", () => {
  story(false);
});
