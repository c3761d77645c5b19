import { createLedger, createPool } from "@millrace/ledger";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { doctorAgrees, named, sendAll } from "./sending.ts";

const LATER = 299;

describeOnRedis("Postgres restored to an earlier hour, Redis ahead", () => {
  let postgres: TestPostgres;
  let redis: TestRedis;
  let pipeline: Pipeline;
  let ingress: MillraceProcess;
  let worker: MillraceProcess;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    pipeline = await createPipeline({ databaseUrl: postgres.url, redisUrl: redis.url });
    ingress = await pipeline.start("ingress");
  });
  beforeEach(async () => {
    worker = await pipeline.start("worker");
  });
  afterEach(() => worker?.end());
  afterAll(async () => {
    await pipeline?.stop();
    await Promise.all([postgres?.stop(), redis?.stop()]);
  });

  const send = (ids: readonly string[]) => sendAll(ingress, ids);
  const countPasses = async () => {
    const { rows } = await pipeline.database.query(
      "select max(pass)::int from millrace.queue_epochs",
    );
    return rows[0].max as number;
  };
  const countRows = async () => {
    const { rows } = await pipeline.database.query("select count(*)::int from millrace.events");
    return rows[0].count as number;
  };

  test(`has ${LATER} of ${LATER} later events again, none twice, and the doctor agrees`, async () => {
    const before = named("before", 50);
    const later = named("later", LATER);
    await send(before);
    await untilCompletedOnce(pipeline.database, before);
    await postgres.backUp();
    await send(later);
    expect(await untilCompletedOnce(pipeline.database, [...before, ...later])).toEqual([]);
    await postgres.restore();

    expect(await untilCompletedOnce(pipeline.database, [...before, ...later])).toEqual([]);
    await until(() => worker.output().includes("Postgres was failed over or restored"));
    const line = worker
      .output()
      .split("\n")
      .find((each) => each.includes("failed over or restored"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "error", source: "acme", unnamed: 0 });
    expect(await doctorAgrees(pipeline)).toMatch(
      /note +epochs +Postgres was failed over or restored: .*acme/,
    );
    const again = await send(later);
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await untilCompletedOnce(pipeline.database, [...before, ...later])).toEqual([]);
  });

  test("runs an event that is delivered again before any worker has compared", async () => {
    const later = named("redelivered", 20);
    await postgres.backUp();
    const rows = await until(countRows);
    await send(later);
    await untilCompletedOnce(pipeline.database, later);
    // A job ends after its event has.
    await withQueue({ databaseUrl: postgres.url, redisUrl: redis.url }, "acme", (queue) =>
      until(async () => {
        const states = await Promise.all(later.map((id) => queue.getJobState(id)));
        return states.every((state) => state === "completed");
      }),
    );
    await worker.end();
    await postgres.restore();
    expect(await until(countRows)).toBe(rows);

    // A ledger that answers too late leaves it to the reconciler; a sender may deliver as often as it likes.
    await until(async () => {
      const answers = await send(later);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      return (await countRows()) === rows + later.length;
    });
    worker = await pipeline.start("worker");
    expect(await untilCompletedOnce(pipeline.database, later)).toEqual([]);
  });

  test("compares quietly what was only restarted", async () => {
    const events = named("restarted", 10);
    await send(events);
    await untilCompletedOnce(pipeline.database, events);
    const passes = await countPasses();
    await until(async () => (await countPasses()) > passes);
    await postgres.restart();
    await until(() => worker.output().includes("Postgres was restarted"));
    await send(named("restarted_later", 1));
    expect(await untilCompletedOnce(pipeline.database, events)).toEqual([]);
    expect(worker.output()).not.toContain("failed over or restored");
  });

  test("is found by every login, and by one that may not ask for the identifier too", async () => {
    const { database } = pipeline;
    // As roles.sql makes a worker's.
    await database.query("create role plain login password 'plain' nosuperuser");
    const url = new URL(postgres.url);
    [url.username, url.password] = ["plain", "plain"];
    const asPlain = async () => {
      const pool = createPool({ url: url.href, max: 1, applicationName: "millrace-test" });
      try {
        const { repair } = createLedger({ pool });
        expect(await repair.serverEpoch()).toEqual(await repair.serverEpoch());
        return await repair.serverEpoch();
      } finally {
        await pool.end();
      }
    };
    const whole = await asPlain();
    expect(whole).toMatchObject({
      systemId: expect.stringMatching(/^\d{10,}$/),
      timeline: "00000001",
    });
    await database.query("revoke execute on function pg_control_system() from public");
    const { startedAtMs } = whole;
    expect(await asPlain()).toEqual({ systemId: "", timeline: "", position: 0, startedAtMs });
  });
});
