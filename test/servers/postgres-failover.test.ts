import { fileURLToPath } from "node:url";
import { createLedger } from "@millrace/ledger";
import { afterEach, expect, test } from "vitest";
import exported from "../fixtures/failover/millrace.config.ts";
import { describeOnStandby } from "../support/describe-on-servers.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { startPostgresPair, type PostgresPair } from "../support/postgres-standby.ts";
import { event } from "../support/queue-fixture.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { doctorAgrees, named, sendAll } from "./sending.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/failover/millrace.config.ts", import.meta.url));
const LOST = 100;

describeOnStandby("Postgres failed over", () => {
  let startedPair: PostgresPair | undefined;
  let redis: TestRedis | undefined;
  let startedPipeline: Pipeline | undefined;
  let ingress: MillraceProcess;
  let worker: MillraceProcess;

  afterEach(async () => {
    await startedPipeline?.stop();
    await Promise.all([startedPair?.stop(), redis?.stop()]);
    [startedPair, redis, startedPipeline] = [undefined, undefined, undefined];
  });

  async function start() {
    const [pair, ownRedis] = await Promise.all([startPostgresPair(), startRedis()]);
    [startedPair, redis] = [pair, ownRedis];
    const servers = { databaseUrl: pair.url, redisUrl: ownRedis.url };
    const pipeline = await createPipeline(servers, { MILLRACE_CONFIG: CONFIG }, exported);
    startedPipeline = pipeline;
    ingress = await pipeline.start("ingress");
    worker = await pipeline.start("worker");
    return { pair, pipeline };
  }
  const send = (ids: readonly string[], source: "acme" | "patient") =>
    sendAll(ingress, ids, { source });
  async function failOver({ standby, primary, promote, moveName }: PostgresPair): Promise<void> {
    await primary.kill();
    await promote();
    moveName();
    expect(await standby.query("select pg_is_in_recovery() as standby")).toEqual([
      { standby: false },
    ]);
  }
  const failures = async ({ database }: Pipeline) => {
    const { rows } = await database.query(
      "select last_error_code as code, count(*)::int from millrace.events where status = 'failed' group by 1",
    );
    return rows as { code: string; count: number }[];
  };

  async function failOverBehind(source: "acme" | "patient") {
    const { pair, pipeline } = await start();
    const [before, lost] = [named("before", 30), named("lost", LOST)];
    const all = [...before, ...lost];
    await send(before, source);
    await untilCompletedOnce(pipeline.database, before);
    await pair.caughtUp();
    pair.link.freeze();
    await send(lost, source);
    expect(await untilCompletedOnce(pipeline.database, all)).toEqual([]);
    await failOver(pair);
    return { pipeline, lost, all };
  }

  test(`to a standby that lagged runs the ${LOST} events again that it never had`, async () => {
    const { pipeline, all } = await failOverBehind("acme");
    expect(await untilCompletedOnce(pipeline.database, all)).toEqual([]);
    expect(worker.output()).toContain('"change":"failed_over"');
    expect(await doctorAgrees(pipeline)).toMatch(/failed over or restored: .*acme \(failed_over/);
    expect(await failures(pipeline)).toEqual([]);
  });

  test("to a standby that lagged fails what only the primary had, and runs it when it is sent again", async () => {
    const { pipeline, lost, all } = await failOverBehind("patient");
    const areFailed = async () => (await failures(pipeline))[0]?.count === LOST;
    await until(areFailed, { what: `${LOST} failed events` });
    expect(await failures(pipeline)).toEqual([{ code: "body_lost", count: LOST }]);
    await doctorAgrees(pipeline);
    await send(lost, "patient");
    expect(await untilCompletedOnce(pipeline.database, all)).toEqual([]);
  });

  test("with the queue on it, to a standby that lagged, runs what has no job there though an ingress marks it", async () => {
    const pair = (startedPair = await startPostgresPair());
    const pipeline = await createPipeline(
      { databaseUrl: pair.url },
      { MILLRACE_CONFIG: CONFIG },
      exported,
    );
    startedPipeline = pipeline;
    worker = await pipeline.start("worker");
    const { intake } = createLedger({ pool: pipeline.database });
    const marked = event("msg_marked_1");
    await intake.accept([marked]);
    await pair.caughtUp();
    // Its job is added after that, and an ingress gathers for a second what it has added.
    pair.link.freeze();
    await failOver(pair);
    await until(() => intake.markEnqueued([marked]).then(() => true));
    expect(await untilCompletedOnce(pipeline.database, [marked.eventId])).toEqual([]);
  });
});
