import type { AnswerOf, Health } from "@millrace/api-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { startInProcess, type RoleInProcess } from "../support/in-process.ts";
import { event } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { allowOnly } from "../support/redis-client.ts";
import { environmentOf } from "../support/server-urls.ts";
import { STORES_CONFIG, useStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";

describeOnRedis("a dashboard that Redis refuses one of its queues", () => {
  const stores = useStores(onRedis);
  let dashboard: RoleInProcess;

  const allow = (...keys: string[]) => allowOnly(stores.servers.redisUrl, ...keys);
  const ask = async (path: string) => (await fetch(`${dashboard.url}${path}`)).text();
  const stats = async () => JSON.parse(await ask("/api/stats")) as AnswerOf<"get /stats">;
  const health = async () => {
    const { items } = JSON.parse(await ask("/api/health")) as Health;
    return new Map(items.map((item) => [item.id, item]));
  };

  beforeAll(async () => {
    const redisUrl = await allow("~bull:millrace-acme:*");
    await stores.queues.enqueue([event("evt_waits")]);
    const env = environmentOf({ ...stores.servers, redisUrl });
    dashboard = await startInProcess("dashboard", STORES_CONFIG, env);
  });
  afterAll(async () => {
    await dashboard?.close();
  });

  test("shows the jobs of the others, and those of that one as unknown until it answers", async () => {
    const { sources } = await until(async () => {
      const answer = await stats();
      return answer.sources["acme"]?.jobs ? answer : undefined;
    });
    expect(sources["acme"]).toMatchObject({ queued: 1, jobs: { waiting: 1, paused: false } });
    expect(sources["patient"]).toMatchObject({ queued: null, jobs: null });

    const metrics = await ask("/metrics");
    expect(metrics).toMatch(/millrace_queue_jobs\{source="acme",state="waiting",[^}]*\} 1/);
    expect(metrics).not.toMatch(/millrace_queue_jobs\{source="patient"/);

    const items = await health();
    expect(items.get("paused")).toMatchObject({
      level: "unknown",
      text: "Paused sources not known",
      detail: expect.stringContaining("patient"),
    });
    expect(items.get("oldest_waiting")).toMatchObject({
      level: "unknown",
      text: "Oldest waiting event not known",
      detail: expect.stringContaining("patient"),
    });
    const compared = await until(async () => {
      const answer = JSON.parse(await ask("/api/disagreements")) as AnswerOf<"get /disagreements">;
      return "kinds" in answer && answer.pending_checked === 0 ? answer : undefined;
    });
    expect(compared.not_compared).toEqual(["patient"]);
    const agreement = await until(async () => {
      const item = (await health()).get("disagreements");
      return item?.detail?.startsWith("Not compared") ? item : undefined;
    });
    expect(agreement).toMatchObject({ level: "unknown", detail: "Not compared: patient" });

    await stores.queues.pause("acme");
    const paused = await until(async () => {
      const item = (await health()).get("paused");
      return item?.level === "warn" ? item : undefined;
    });
    expect(paused).toMatchObject({ text: "1 source paused", detail: "acme; not known: patient" });

    await allow("~bull:millrace-acme:*", "~bull:millrace-patient:*");
    await until(async () => (await stats()).sources["patient"]?.queued === 0);
    await until(async () => (await health()).get("oldest_waiting")?.level === "ok");
  });
});
