import { createHash } from "node:crypto";
import { checkJob } from "@millrace/processor";
import { Queue } from "bullmq";
import { sql } from "drizzle-orm";
import { defineConfig, hmac, on } from "millrace";
import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openTestQueues, quickWorker } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

// What docs/security.md says of connections, and of things that Millrace does not stop.

/** What one handler leaves behind on its connection, and how another one sees it there. */
const LEFT_BEHIND = {
  "a setting by set_config": [
    "select set_config('acme.left', 'behind', false)",
    "select current_setting('acme.left', true) = 'behind' as found",
  ],
  "a temporary table": [
    "create temp table left_behind (id int)",
    "select to_regclass('pg_temp.left_behind') is not null as found",
  ],
  "a cursor WITH HOLD": [
    "declare left_behind cursor with hold for select 1",
    "select exists (select from pg_cursors where name = 'left_behind') as found",
  ],
  "a session-level advisory lock": [
    "select pg_advisory_lock(47)",
    "select exists (select from pg_locks where locktype = 'advisory' and objid = 47 and pid = pg_backend_pid()) as found",
  ],
  "a setting that a DO block makes": [
    "do $$ begin execute 'set acme.done = ''behind'''; end $$",
    "select current_setting('acme.done', true) = 'behind' as found",
  ],
} as const;

const CLOSES_THE_CONNECTION = [
  "set work_mem = '8MB'",
  "reset work_mem",
  "discard plans",
  "prepare left_behind as select 1",
  "listen left_behind",
  "unlisten *",
  "load '$libdir/plpgsql'",
];
const LEAVES_NOTHING = ["set local work_mem = '8MB'", "set constraints all deferred"];

describe("what a handler leaves behind on its connection", () => {
  let environment: TestEnvironment;
  let statement = "";
  let answer: { pid?: number; found?: boolean } = {};

  beforeAll(async () => {
    const config = defineConfig({
      sources: { acme: hmac({ header: "x-signature", id: "json:id", type: "json:type" }) },
      handlers: [
        on("acme", "*", async (_event, { tx }) => {
          const { rows } = await tx.execute(sql.raw(statement));
          const [backend] = (await tx.execute(sql`select pg_backend_pid() as pid`)).rows;
          answer = { ...rows[0], ...backend };
        }),
      ],
    });
    environment = await createTestEnvironment(config, { databaseUrl: inject("postgresUrl") });
  });
  afterAll(() => environment?.close());

  /** Runs a statement in a handler, one event after the other, so that they take turns on a connection. */
  async function handle(text: string): Promise<typeof answer> {
    statement = text;
    const { status, error } = await environment.deliver("acme", "thing.happened");
    expect({ status, error }).toEqual({ status: "completed", error: undefined });
    return answer;
  }

  test.each(Object.entries(LEFT_BEHIND))(
    "the next handler has the same connection, and does not find %s",
    async (_, [leave, look]) => {
      const { pid } = await handle(leave);
      const next = await handle(look);
      expect(next.pid).toBe(pid);
      expect(next.found).not.toBe(true);
    },
  );

  test.each(CLOSES_THE_CONNECTION)("after %s the connection is not used again", async (text) => {
    const { pid } = await handle(text);
    expect((await handle("select 1")).pid).not.toBe(pid);
  });

  test.each(LEAVES_NOTHING)("after %s the connection is used again", async (text) => {
    const { pid } = await handle(text);
    expect((await handle("select 1")).pid).toBe(pid);
  });
});

describeOnRedis("a client that can write to Redis, where jobs are not signed", () => {
  test("has a worker run an event that no sender signed; its body stays with the completed job", async () => {
    const redis = await startRedis();
    const ran: string[] = [];
    const urls = { databaseUrl: "", redisUrl: redis.url };
    const queues = await openTestQueues(urls, "worker", ["acme"]);
    const forger = new Queue("millrace-acme", { connection: { url: redis.url } });
    try {
      queues.work({
        worker: quickWorker(),
        concurrency: () => 1,
        run: (job) => {
          const refused = checkJob(job);
          if (refused === undefined) ran.push(job.event.eventId);
          return Promise.resolve(
            refused === undefined
              ? { kind: "completed", outcome: "handled" }
              : { kind: "failed", ...refused },
          );
        },
        onAbandoned: () => Promise.resolve(),
      });
      await forger.add("thing.happened", forged("evt_1", '{"forged":1}'), { jobId: "evt_1" });
      const careless = { ...forged("evt_2", '{"forged":2}'), body: '{"edited":2}' };
      await forger.add("thing.happened", careless, { jobId: "evt_2" });
      const stateOf = (id: string) => forger.getJobState(id);
      await until(async () => (await stateOf("evt_1")) === "completed");
      await until(async () => (await stateOf("evt_2")) === "failed");
      expect(ran).toEqual(["evt_1"]);
      expect((await forger.getJob("evt_1"))?.data).toMatchObject({ body: '{"forged":1}' });
    } finally {
      await forger.close();
      await queues.close();
      await redis.stop();
    }
  });
});

/** A job's data with a body of the forger's, and the hash of that body, which needs no key. */
function forged(id: string, body: string): object {
  return {
    ...{ v: 1, source: "acme", id, type: "thing.happened", generation: 0 },
    ...{ accepted_at: Date.now(), headers: {}, unsigned: false, body, body_encoding: "utf8" },
    body_hash: createHash("sha256").update(body).digest("base64url"),
  };
}
