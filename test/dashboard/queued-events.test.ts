import type { EventPage } from "@millrace/api-contract";
import { makeQueueKey, toEnvelope } from "@millrace/core";
import { defineConfig, on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { startJobForger } from "../attacks/job-forger.ts";
import { doctorConfig } from "../cli/cli-fixture.ts";
import { openForAll } from "../support/open-for.ts";
import { post } from "../support/pipeline.ts";
import { event, withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { millrace } from "../support/run-in-process.ts";
import { environmentOf } from "../support/server-urls.ts";

const config = defineConfig({
  sources: { acme: standardWebhooks(), patient: standardWebhooks({ ack: "ledger" }) },
  handlers: [on("acme", "*", () => {})],
});
const MILLRACE_QUEUE_KEY = makeQueueKey();

describeOnRedis("acknowledged events that wait in their queue", () => {
  const stack = openForAll(() => startJobForger(config, MILLRACE_QUEUE_KEY));
  const list = async (query = "") => {
    const answer = await fetch(`${stack.dashboard.url}/api/events${query}`);
    const { events, queued } = (await answer.json()) as EventPage;
    return {
      recorded: events.map((row) => row.event_id),
      queued: queued?.events.map((row) => row.event_id ?? `${row.job_id} ${row.problem}`),
      count: queued?.count,
    };
  };
  const command = async (...args: string[]) => {
    const env = { MILLRACE_CONFIG: doctorConfig("millrace"), MILLRACE_QUEUE_KEY };
    return await millrace(["events", ...args], {
      env: { ...env, ...environmentOf(stack.servers) },
    });
  };

  test("are listed until a worker records them, and forged ones by the IDs of their jobs", async () => {
    const paused = (does: "pause" | "resume") =>
      withQueue(stack.servers, "acme", (queue) => queue[does]());
    await paused("pause");
    const send = (id: string, type: string) => post(stack.ingress.url, { id, type });
    await send("evt_1", "order.paid");
    await send("evt_2", "order.sent");
    await stack.add(toEnvelope(event("evt_forged_1")), "evt_forged_1");
    await stack.add("no envelope", "evt_text_1");
    const odd = ["evt_text_1 unreadable_job", "evt_forged_1 unrecorded_job_unsigned"];

    expect(await list()).toEqual({ recorded: [], queued: [...odd, "evt_2", "evt_1"], count: 4 });
    expect((await list("?q=evt_1")).queued).toEqual(["evt_1"]);
    expect((await list("?q=evt_")).queued).toEqual([]);
    expect((await list("?type=order.sent&since=2026-01-01T00:00:00Z")).queued).toEqual(["evt_2"]);
    expect((await list("?source=patient")).count).toBe(0);
    expect((await list("?status=pending")).queued).toEqual([]);
    expect((await list("?limit=1")).queued).toEqual(odd.slice(0, 1));
    expect((await command()).stdout).toMatch(/evt_1 +order.paid +queued.*waiting\n4 wait/);
    expect((await command("--json", "--q", "evt_1")).stdout).toContain('"stage":"queued"');
    await paused("resume");
    await stack.settled("evt_1");
    await stack.settled("evt_2");
    const end = { recorded: ["evt_2"], queued: [], count: 0 };
    expect(await list("?type=order.sent")).toEqual(end);
    expect((await command()).stdout).not.toContain("queued");
  });
});
