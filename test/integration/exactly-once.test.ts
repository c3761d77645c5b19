import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { effectsOf, eventOf, reaches } from "../support/seen-events.ts";

onOneBackend("two ingresses and three workers", (prepare, backend) => {
  const stack = openForAll(async () => {
    const started = await startStack(prepare);
    const { pipeline } = started;
    const other = await pipeline.startInProcess("ingress");
    await Promise.all([2, 3].map(() => pipeline.startInProcess("worker")));
    return { ...started, urls: [started.ingress.url, other.url] };
  });

  const completed = (id: string) => reaches(stack.pipeline.database, id, "completed");
  const url = (index: number) => stack.urls[index % 2] ?? "";
  const effects = (id: string) => effectsOf(stack.pipeline.database, id);
  const completeMarker = async (id: string) => {
    await post(url(1), { id, type: "test.effect" });
    await completed(id);
  };

  test("the same webhook twice has one effect, and the second is answered as a duplicate", async () => {
    const event = { id: "msg_twice_1", type: "test.effect" };
    const first = await post(url(0), event);
    expect([first.status, first.text]).toEqual([202, '{"status":"accepted"}']);
    const second = await post(url(1), event);
    expect([second.status, second.text]).toEqual([200, '{"status":"duplicate"}']);
    await completed(event.id);
    expect(await effects(event.id)).toBe(1);
  });

  test("a hundred duplicates among other events have one effect each", async () => {
    const others = Array.from({ length: 50 }, (_, i) => `msg_other_${i}`);
    const ids = [...Array.from({ length: 100 }, () => "msg_hundred_1"), ...others];
    const answers = await Promise.all(
      ids.map((id, index) => post(url(index), { id, type: "test.effect" })),
    );
    expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
    await Promise.all(["msg_hundred_1", ...others].map(completed));
    const { rows } = await stack.pipeline.database.query(
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
    await completeMarker("msg_again_marker_1");
    expect(await effects(event.id)).toBe(1);
    expect(await eventOf(stack.pipeline.database, event.id)).toMatchObject({ attempts: 1 });
  });

  test("a redelivery whose job is gone from the queue is a duplicate to the ledger", async () => {
    const event = { id: "msg_flushed_1", type: "test.effect" };
    await post(url(0), event);
    await completed(event.id);
    if (backend === "redis") await loseQueue(stack.servers.redisUrl, stack.pipeline.database);
    else await stack.pipeline.database.query("delete from bullmq.job where id = $1", [event.id]);
    const again = await post(url(1), event);
    expect([200, 202]).toContain(again.status);
    await completeMarker("msg_flushed_marker_1");
    expect(await effects(event.id)).toBe(1);
  });
});
