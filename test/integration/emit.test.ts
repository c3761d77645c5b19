import { defineConfig, internal, on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";

// The reconciler has the intervals that it has by default: a sweep would come after ten minutes.
const config = defineConfig({
  sources: { acme: standardWebhooks(), mail: internal() },
  handlers: [
    on("acme", "order.paid", async (event, { emit }) => {
      await emit("mail", "receipt", { order: event.payload.data.order });
    }),
    on("mail", "receipt", () => {}),
  ],
});

onOneBackend("an emitted event", (prepare) => {
  const stack = openForAll(() => startStack(prepare, { config }));

  const statusOf = async (source: string, id: string) => {
    const { rows } = await stack.pipeline.database.query<{ status: string; marked: boolean }>(
      `select status, enqueued_at is not null as marked from millrace.events
       where source = $1 and event_id = $2`,
      [source, id],
    );
    return rows[0];
  };
  const pay = async (id: string) => {
    const answer = await post(stack.ingress.url, { id, type: "order.paid", data: { order: 7 } });
    expect(answer.status).toBe(202);
    await until(async () => (await statusOf("acme", id))?.status === "completed");
    return `acme|${id}|0|receipt|#1`;
  };

  test("is shown with its parent, and its parent with it", async () => {
    const id = "evt_chain_1";
    const child = await pay(id);
    await until(async () => (await statusOf("mail", child))?.status === "completed");
    const show = async (source: string, eventId: string) => {
      const path = `api/events/${source}/${encodeURIComponent(eventId)}`;
      return (await (await fetch(`${stack.dashboard.url}/${path}`)).json()) as object;
    };
    expect(await show("mail", child)).toMatchObject({
      emitted_by: { source: "acme", event_id: id, generation: 0 },
      emitted: { total: 0, events: [] },
      payload: { order: 7 },
    });
    expect(await show("acme", id)).toMatchObject({
      emitted_by: null,
      emitted: {
        total: 1,
        events: [{ source: "mail", event_id: child, type: "receipt", status: "completed" }],
      },
    });
  });

  test("runs although its queue is lost within the second after its parent's commit", async () => {
    await withQueue(stack.servers, "mail", async (queue) => {
      await queue.pause();
      const child = await pay("evt_lost_1");
      await until(async () => (await queue.getJobs(["waiting"])).length > 0);
      expect(await statusOf("mail", child)).toMatchObject({ status: "pending", marked: false });
      await loseQueue(stack.servers.redisUrl, stack.pipeline.database);
      await until(async () => (await statusOf("mail", child))?.status === "completed");
    });
  });
});
