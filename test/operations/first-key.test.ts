import { makeQueueKey } from "@millrace/core";
import { expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack, untilCompletedOnce, type Stack } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const KEY = { MILLRACE_QUEUE_KEY: makeQueueKey() };
const SOURCES = ["acme", "patient"] as const;

describeOnRedis("the first key of jobs, given under traffic", () => {
  const stack = openForAll(() => startStack(onRedis, { worker: false }));

  test("in two steps, every acknowledged event runs once", async () => {
    const { pipeline, ingress, dashboard } = stack;
    const keyless = await pipeline.startInProcess("worker");
    const traffic = startTraffic(ingress.url);
    await withQueue(stack.servers, "acme", (queue) => queue.pause());
    await until(async () => (await unsignedWaiting(stack)).length > 3);

    const signing = await pipeline.startInProcess("ingress", KEY);
    await pipeline.startInProcess("dashboard", KEY);
    traffic.url = signing.url;
    await traffic.acknowledges(10);
    await Promise.all([ingress.close(), dashboard.close()]);
    expect(await unsignedWaiting(stack)).not.toEqual([]);
    await withQueue(stack.servers, "acme", (queue) => queue.resume());
    await until(async () => (await unsignedWaiting(stack)).length === 0);

    const worker = await pipeline.startInProcess("worker", KEY);
    await keyless.close();
    await traffic.acknowledges(10);
    const acknowledged = await traffic.stop();
    expect(await untilCompletedOnce(pipeline.database, acknowledged)).toEqual([]);
    const metrics = await (await fetch(`${worker.url}/metrics`)).text();
    expect(metrics).not.toMatch(/job_mac_failures_total\{[^}]*result="refused"[^}]*\} [1-9]/);
  });
});

function startTraffic(firstUrl: string) {
  const acknowledged: string[] = [];
  let sending = true;
  const traffic = {
    url: firstUrl,
    acknowledges: async (count: number) => {
      const wanted = acknowledged.length + count;
      await until(() => acknowledged.length >= wanted);
    },
    stop: async () => {
      sending = false;
      await Promise.all(senders);
      return acknowledged;
    },
  };
  const senders = SOURCES.map(async (source) => {
    for (let number = 0; sending; number += 1) {
      const id = `${source}_${number}`;
      const { status } = await post(traffic.url, { id, type: "test.effect", source });
      if (status < 300) acknowledged.push(id);
    }
  });
  return traffic;
}

async function unsignedWaiting({ servers, pipeline }: Stack): Promise<readonly string[]> {
  const unended = await Promise.all(
    SOURCES.map((source) =>
      withQueue(servers, source, (queue) =>
        queue.getJobs(["waiting", "prioritized", "delayed", "active"]),
      ),
    ),
  );
  const ids = unended.flat().flatMap(({ id, data }) => (data.mac === undefined ? [id] : []));
  const { rows } = await pipeline.database.query<{ id: string }>(
    "select id from unnest($1::text[]) id where id not in (select event_id from millrace.events)",
    [ids],
  );
  return rows.map(({ id }) => id);
}
