import { afterAll, beforeAll, expect, test } from "vitest";
import { onOneBackend, type TestServers } from "../support/backends.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { effectsOf, eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

onOneBackend("two ingresses and three workers", (prepare, backend) => {
  let servers: TestServers;
  let pipeline: Pipeline;
  let ingresses: RoleInProcess[];

  beforeAll(async () => {
    servers = await prepare();
    pipeline = await createPipeline(servers);
    ingresses = await Promise.all([
      pipeline.startInProcess("ingress"),
      pipeline.startInProcess("ingress"),
    ]);
    await Promise.all([1, 2, 3].map(() => pipeline.startInProcess("worker")));
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.release();
  });

  const completed = (id: string) =>
    until(async () => (await eventOf(pipeline.database, id))?.status === "completed", {
      what: `${id} completed`,
    });
  const url = (index: number) => ingresses[index % ingresses.length]?.url ?? "";

  test("the same webhook twice has one effect, and the second is answered as a duplicate", async () => {
    const event = { id: "msg_twice_1", type: "test.effect" };
    const first = await post(url(0), event);
    expect([first.status, first.text]).toEqual([202, '{"status":"accepted"}']);
    const second = await post(url(1), event);
    expect([second.status, second.text]).toEqual([200, '{"status":"duplicate"}']);
    await completed(event.id);
    expect(await effectsOf(pipeline.database, event.id)).toBe(1);
  });

  test("ten at once have one effect, and all are answered 2xx", async () => {
    const event = { id: "msg_ten_1", type: "test.effect" };
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => post(url(i), event)));
    expect(answers.every(({ status }) => status === 200 || status === 202)).toBe(true);
    await completed(event.id);
    expect(await effectsOf(pipeline.database, event.id)).toBe(1);
  });

  test("a hundred duplicates among other events have one effect each", async () => {
    const others = Array.from({ length: 50 }, (_, i) => `msg_other_${i}`);
    const ids = [...Array.from({ length: 100 }, () => "msg_hundred_1"), ...others];
    const answers = await Promise.all(
      ids.map((id, index) => post(url(index), { id, type: "test.effect" })),
    );
    expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
    await Promise.all(["msg_hundred_1", ...others].map(completed));
    const { rows } = await pipeline.database.query(
      "select event_id, count(*)::int as effects from effects group by 1 having count(*) <> 1",
    );
    expect(rows).toEqual([]);
  });

  test("a redelivery after completion is answered 2xx and has no second effect", async () => {
    const event = { id: "msg_again_1", type: "test.effect" };
    await post(url(0), event);
    await completed(event.id);
    const again = await post(url(1), event);
    expect(again.status).toBe(200);
    // The marker comes after it in the same queue: once it is done, so would a second run be.
    const marker = { id: "msg_again_marker_1", type: "test.effect" };
    await post(url(1), marker);
    await completed(marker.id);
    expect(await effectsOf(pipeline.database, event.id)).toBe(1);
    expect(await eventOf(pipeline.database, event.id)).toMatchObject({ attempts: 1 });
  });

  test("a redelivery whose job is gone from the queue is a duplicate to the ledger", async () => {
    const event = { id: "msg_flushed_1", type: "test.effect" };
    await post(url(0), event);
    await completed(event.id);
    if (backend === "redis") await loseQueue(servers.redisUrl, pipeline.database);
    else await pipeline.database.query("delete from bullmq.job where id = $1", [event.id]);
    const again = await post(url(1), event);
    expect([200, 202]).toContain(again.status);
    const marker = { id: "msg_flushed_marker_1", type: "test.effect" };
    await post(url(1), marker);
    await completed(marker.id);
    expect(await effectsOf(pipeline.database, event.id)).toBe(1);
  });

  test("an event without a handler is completed as ignored", async () => {
    await post(url(0), { id: "msg_nobody_1", type: "test.nobody_hears" });
    await completed("msg_nobody_1");
    expect(await eventOf(pipeline.database, "msg_nobody_1")).toMatchObject({ outcome: "ignored" });
  });
});
