import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { onRedis, onPostgres, type TestServers } from "../support/backends.ts";
import { describeBehindPgbouncer } from "../support/describe-on-servers.ts";
import { startPgbouncer, type TestPgbouncer } from "../support/pgbouncer.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { reaches } from "../support/seen-events.ts";
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

/** The n-th value of each setting that a user may change: of numbers, the least and the greatest. */
const VALUES = `
  SELECT name, CASE vartype WHEN 'bool' THEN ARRAY['on', 'off'] WHEN 'enum' THEN enumvals
    ELSE ARRAY[min_val, max_val] END AS values
  FROM pg_settings WHERE context = 'user' AND vartype <> 'string'`;
const ROUNDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

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
  const ended = (id: string, status: string) => reaches(database, id, status);
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

/** Plays without those by whose name a start is refused, which it gives. */
async function playWithout(
  pipeline: Pipeline,
  own: pg.Pool,
  { settings, pooler }: { settings: readonly string[]; pooler: TestPgbouncer },
) {
  const refused: string[] = [];
  for (;;) {
    try {
      await play(pipeline, own);
      return refused;
    } catch (error) {
      const named = settings.filter((name) => String(error).includes(name));
      if (named.every((name) => refused.includes(name))) throw error;
      refused.push(...named);
      for (const name of named) await own.query(alter(pipeline, `RESET ${name}`));
      await pooler.ask("RECONNECT");
    }
  }
}

const alter = ({ env }: Pipeline, what: string) =>
  `ALTER DATABASE "${new URL(env.DATABASE_URL ?? "").pathname.slice(1)}" ${what}`;

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
  type Way = (typeof WAYS)[number];

  async function onSettings(
    way: Way,
    choose: (own: pg.Pool) => Promise<readonly (readonly [string, string])[]>,
  ): Promise<readonly string[]> {
    const servers = await (way === WAYS[2] ? onPostgres() : onRedis());
    open.push(servers);
    const { databaseUrl } = servers;
    const behind = { DATABASE_URL: pooler.urlOf(databaseUrl), DATABASE_SESSION_URL: databaseUrl };
    const pipeline = await createPipeline(servers, way === WAYS[1] ? behind : {});
    const options = "-c statement_timeout=0 -c idle_session_timeout=0";
    const own = new pg.Pool({ connectionString: databaseUrl, max: 2, options });
    try {
      const settings = await choose(own);
      for (const [setting, value] of settings) {
        const given = value === MOMENT && way === WAYS[1] ? "'1s'" : value;
        await own.query(alter(pipeline, `SET ${setting} = ${given}`));
      }
      const names = settings.map(([setting]) => setting);
      return await playWithout(pipeline, own, { settings: names, pooler });
    } finally {
      await pipeline.stop();
      await own.end();
    }
  }

  const all = Object.keys(RUNS).flatMap((run) => WAYS.map((way) => [run, way] as const));
  test.each(all)("%s, %s, harm no event", async (run, way) => {
    expect(await onSettings(way, async () => Object.entries(RUNS[run] ?? {}))).toEqual([]);
  });

  const rounds = ROUNDS.flatMap((n) => WAYS.map((way) => [n, way] as const));
  test.each(rounds)("all of a user, each with its value %i, %s, harm no event", async (n, way) => {
    const refused = await onSettings(way, async (own) => {
      const { rows } = await own.query<{ name: string; values: string[] }>(VALUES);
      expect(Math.max(...rows.map(({ values }) => values.length))).toBeLessThanOrEqual(
        ROUNDS.length,
      );
      return (
        rows
          // On a server that is read-only the roles wait, and name the setting (set-ups.test.ts).
          .filter(
            ({ name }) =>
              !/^(default_transaction_read_only|transaction_(isolation|read_only|deferrable))$/.test(
                name,
              ),
          )
          .map(({ name, values }) => [name, `'${values[n % values.length]}'`] as const)
      );
    });
    expect(["default_transaction_isolation"]).toEqual(expect.arrayContaining([...refused]));
  });
});
