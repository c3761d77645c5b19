import { afterEach, beforeEach, expect, test } from "vitest";
import { startSenders } from "../integration/senders.ts";
import { isAlive, startRole, type MillraceProcess } from "../support/millrace-process.ts";
import { markQueue, withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { signed, VARIABLES } from "./plain-config.ts";
import { sendTo } from "./send-to.ts";

describeOnRedis("an ingress of two processes", () => {
  let redis: TestRedis;
  let ingress: MillraceProcess;

  beforeEach(async () => {
    redis = await startRedis();
    await markQueue(redis.url, "plain");
    const env = { ...VARIABLES, REDIS_URL: redis.url };
    ingress = await startRole("ingress", env, { args: ["--processes", "2"] });
    await until(() => pids().length === 2);
  });
  afterEach(async () => {
    await ingress?.end();
    await redis.stop();
  });

  const port = () => Number(new URL(ingress.url).port);
  const deliver = (id: string) => sendTo(port(), { source: "plain", ...signed({ id }) });
  const pids = () =>
    [...ingress.output().matchAll(/"processId":(\d+)[^\n]*"a process listens"/g)].map(([, pid]) =>
      Number(pid),
    );
  const scrape = async () => await (await fetch(`${ingress.url}/metrics`)).text();

  test("one that is killed under load is started again, and what was acknowledged is queued", async () => {
    const senders = startSenders(deliver);
    await senders.moreAcknowledged(50);
    process.kill(pids()[0] ?? 0, "SIGKILL");
    await senders.moreAcknowledged(50);
    await until(() => pids().length === 3);
    await senders.moreAcknowledged(50);
    await senders.stop();

    await withQueue({ databaseUrl: "", redisUrl: redis.url }, "plain", async (queue) => {
      const queued = new Set((await queue.getWaiting()).map(({ id }) => id));
      expect(senders.acknowledged().filter((id) => !queued.has(id))).toEqual([]);
    });
  });

  test("whichever is asked answers with the metrics of both, and each says whether it is ready", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => deliver(`evt_${index}`)));
    const metrics = await scrape();
    const counts = metrics.matchAll(
      /^millrace_ingress_deliveries_total\{.*process="(\d)".*\} (\d+)/gm,
    );
    const ofEach = [...counts].map(([, name, count]) => [name, Number(count)] as const);
    expect(ofEach.map(([name]) => name).toSorted()).toEqual(["1", "2"]);
    expect(ofEach.reduce((sum, [, count]) => sum + count, 0)).toBe(20);
    expect((await fetch(`${ingress.url}/readyz`)).status).toBe(200);
  });

  test("all end in good order when the first is told to stop", async () => {
    expect((await deliver("evt_1")).status).toBe(202);
    // As Ctrl-C in a terminal does, which reaches all of them.
    for (const pid of pids()) process.kill(pid, "SIGINT");
    expect(await ingress.end("SIGINT")).toBe(0);
    expect(pids().filter(isAlive)).toEqual([]);
  });
});
