import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand, type MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline, post, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

// Redis is put back to an older append-only file, alone or with Postgres.

describeOnRedis("an older Redis", () => {
  let postgres: TestPostgres;
  let redis: TestRedis;
  let pipeline: Pipeline;
  let ingress: MillraceProcess;
  let backup: string;

  beforeAll(async () => {
    backup = await mkdtemp(join(tmpdir(), "millrace-redis-backup-"));
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    pipeline = await createPipeline({ databaseUrl: postgres.url, redisUrl: redis.url });
    ingress = await pipeline.start("ingress");
    await pipeline.start("worker");
  });
  afterAll(async () => {
    await pipeline?.stop();
    await Promise.all([postgres?.stop(), redis?.stop()]);
    await rm(backup, { recursive: true, force: true });
  });

  const named = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => `msg_${name}_${index}`);
  const sendAll = (ids: readonly string[]) =>
    Promise.all(ids.map((id) => post(ingress.url, { id, type: "test.effect" })));
  const copyRedis = async (from: string, to: string) => {
    await redis.kill();
    await rm(join(to, "appendonlydir"), { recursive: true, force: true });
    execFileSync("cp", ["-a", join(from, "appendonlydir"), to]);
    await redis.restart();
  };
  const agrees = async () =>
    await until(async () => (await runCommand(["doctor"], pipeline.env)).code === 0);

  test("runs nothing again, and takes what is delivered from then on", async () => {
    const [before, later] = [named("before", 30), named("later", 60)];
    await sendAll(before);
    await untilCompletedOnce(pipeline.database, before);
    await copyRedis(redis.folder, backup);
    await sendAll(later);
    await untilCompletedOnce(pipeline.database, [...before, ...later]);
    await copyRedis(backup, redis.folder);

    await agrees();
    // Redis has forgotten the later ones, and the ledger has not: a job of theirs runs no handler.
    await sendAll([...before, ...later]);
    const after = named("after", 10);
    await sendAll(after);
    expect(await untilCompletedOnce(pipeline.database, [...before, ...later, ...after])).toEqual(
      [],
    );
    await agrees();
  });

  test("has what an even older Postgres has lost, and that runs again", async () => {
    const [before, between, later] = [named("pg", 20), named("between", 40), named("gone", 20)];
    await sendAll(before);
    await untilCompletedOnce(pipeline.database, before);
    await postgres.backUp();
    await sendAll(between);
    await untilCompletedOnce(pipeline.database, [...before, ...between]);
    await copyRedis(redis.folder, backup);
    await sendAll(later);
    await untilCompletedOnce(pipeline.database, later);
    await Promise.all([postgres.restore(), copyRedis(backup, redis.folder)]);

    expect(await untilCompletedOnce(pipeline.database, [...before, ...between])).toEqual([]);
    const { rows } = await pipeline.database.query(
      "select count(*)::int from millrace.events where event_id like 'msg_gone_%'",
    );
    expect(rows[0].count).toBe(0);
    await agrees();
    // Neither has a trace of these. Their senders do.
    await sendAll(later);
    expect(await untilCompletedOnce(pipeline.database, [...before, ...between, ...later])).toEqual(
      [],
    );
  });
});
