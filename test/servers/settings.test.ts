import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { onRedis, onPostgres, type TestServers } from "../support/backends.ts";
import { describeBehindPgbouncer } from "../support/describe-on-servers.ts";
import { startPgbouncer, type TestPgbouncer } from "../support/pgbouncer.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

// What a database or a login may legally set, away from its default. Settings that cannot meet share
// a run; each run plays what people and workers do with events.

/** A millisecond; behind a pooler, whose own sessions have it too, a second. */
const MOMENT = "'1ms'";

const RUNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "as text that is read another way": {
    datestyle: "'SQL, DMY'",
    timezone: "'Asia/Kathmandu'",
    extra_float_digits: "-15",
    bytea_output: "escape",
    quote_all_identifiers: "on",
  },
  "as values that are written another way": {
    datestyle: "'German'",
    timezone: "'-13'",
    array_nulls: "off",
    standard_conforming_strings: "off",
    transform_null_equals: "on",
    exit_on_error: "on",
  },
  "as sessions that end and plans that are forced": {
    statement_timeout: MOMENT,
    lock_timeout: MOMENT,
    idle_session_timeout: MOMENT,
    idle_in_transaction_session_timeout: MOMENT,
    plan_cache_mode: "force_custom_plan",
    enable_indexscan: "off",
  },
};

async function play(pipeline: Pipeline, database: pg.Pool): Promise<void> {
  const worker = await pipeline.startInProcess("worker");
  const [ingress, dashboard] = await Promise.all([
    pipeline.startInProcess("ingress"),
    pipeline.startInProcess("dashboard"),
  ]);
  const api = async (path: string, method = "GET") => {
    const response = await fetch(`${dashboard.url}/api${path}`, { method });
    const text = await response.text();
    expect([path, response.status, text]).toEqual([path, expect.toBeOneOf([200, 202]), text]);
    return JSON.parse(text) as Record<string, unknown>;
  };
  const ended = (id: string, status: string) =>
    until(async () => (await eventOf(database, id))?.status === status);
  try {
    for (const [id, type] of [
      ["set_well", "test.effect"],
      ["set_ill", "test.never"],
    ] as const) {
      await post(ingress.url, { id, type });
    }
    await ended("set_well", "completed");
    await ended("set_ill", "failed");
    const found = await api("/events/acme/set_ill");
    expect(found).toMatchObject({ last_error_code: "permanent_error" });
    expect(Date.parse(String(found["recorded_at"]))).toBeGreaterThan(Date.now() - 600_000);
    await api("/events/acme/set_ill/retry", "POST");
    await ended("set_ill", "failed");
    await api("/events/acme/set_well/replay", "POST");
    await until(async () => {
      const { generations } = (await api("/events/acme/set_well")) as never as {
        generations: readonly { status: string }[];
      };
      return generations.length === 2 && generations.every(({ status }) => status === "completed");
    });
    expect((await api("/events?status=failed"))["events"]).toHaveLength(1);
    await api("/activity");
    await api("/health");
  } finally {
    await Promise.all([ingress.close(), dashboard.close(), worker.close()]);
  }
}

describeBehindPgbouncer("settings of a database", () => {
  let pooler: TestPgbouncer;
  const open: TestServers[] = [];
  beforeAll(async () => {
    pooler = await startPgbouncer(inject("postgresUrl"));
  });
  afterAll(async () => {
    await pooler?.stop();
    await Promise.all(open.map((servers) => servers.release()));
  });

  const WAYS = ["directly", "behind PgBouncer", "with the queue on Postgres"] as const;
  const all = Object.keys(RUNS).flatMap((run) => WAYS.map((way) => [run, way] as const));
  test.each(all)("%s, %s, harm no event", async (run, way) => {
    const servers = await (way === WAYS[2] ? onPostgres() : onRedis());
    open.push(servers);
    const { databaseUrl } = servers;
    const name = new URL(databaseUrl).pathname.slice(1);
    const behind = { DATABASE_URL: pooler.urlOf(databaseUrl), DATABASE_SESSION_URL: databaseUrl };
    const pipeline = await createPipeline(servers, way === WAYS[1] ? behind : {});
    const options = "-c statement_timeout=0 -c idle_session_timeout=0";
    const own = new pg.Pool({ connectionString: databaseUrl, max: 2, options });
    try {
      for (const [setting, value] of Object.entries(RUNS[run] ?? {})) {
        const given = value === MOMENT && way === WAYS[1] ? "'1s'" : value;
        await own.query(`ALTER DATABASE "${name}" SET ${setting} = ${given}`);
      }
      await play(pipeline, own);
    } finally {
      await pipeline.stop();
      await own.end();
    }
  });
});
