import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { millrace } from "../support/run-in-process.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { post, startStack, type Pipeline, type Stack } from "../support/pipeline.ts";
import { effectsOf, eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

onOneBackend("an event that fails", (prepare) => {
  let stack: Stack;
  let pipeline: Pipeline;
  let ingress: RoleInProcess;
  let dashboard: RoleInProcess;

  beforeAll(async () => {
    stack = await startStack(prepare);
    ({ pipeline, ingress, dashboard } = stack);
  });
  afterAll(() => stack?.close());
  beforeEach(() => pipeline.database.query("truncate switches"));

  const reaches = (id: string, status: string) =>
    until(
      async () => {
        const event = await eventOf(pipeline.database, id);
        return event?.status === status ? event : undefined;
      },
      { what: `${id} ${status}` },
    );
  const repair = () => pipeline.database.query("insert into switches values ('repaired')");
  // The ledger's row is written before BullMQ's job; its routes want the job to have failed.
  const jobFailed = (id: string) =>
    until(async () => {
      const queues = await fetch(`${dashboard.url}/queues/api/queues?activeQueue=millrace-acme`);
      const { queues: all } = (await queues.json()) as { queues: { counts: { failed: number } }[] };
      const job = await fetch(`${dashboard.url}/queues/api/queues/millrace-acme/${id}`);
      const { status } = (await job.json()) as { status: string };
      return all.length > 0 && status === "failed";
    });

  async function fail(id: string): Promise<void> {
    await post(ingress.url, { id, type: "test.until_mended" });
    expect(await reaches(id, "failed")).toMatchObject({
      attempts: 3,
      last_error: expect.stringContaining("The switch is off"),
    });
    expect(await effectsOf(pipeline.database, id)).toBe(0);
    await jobFailed(id);
  }

  test("shows its reason, is repaired, retried in the queue dashboard, and completes", async () => {
    await fail("msg_board_1");
    await repair();
    const retried = await fetch(
      `${dashboard.url}/queues/api/queues/millrace-acme/msg_board_1/retry`,
      { method: "PUT" },
    );
    expect(retried.status).toBeLessThan(300);
    await reaches("msg_board_1", "completed");
    expect(await effectsOf(pipeline.database, "msg_board_1")).toBe(1);
  });

  test("is retried through the API", async () => {
    await fail("msg_api_1");
    await repair();
    const retried = await fetch(`${dashboard.url}/api/events/acme/msg_api_1/retry`, {
      method: "POST",
    });
    expect([retried.status, await retried.json()]).toEqual([200, { retried: 1, skipped: {} }]);
    await reaches("msg_api_1", "completed");
    expect(await effectsOf(pipeline.database, "msg_api_1")).toBe(1);
  });

  test("is retried by the command", async () => {
    await fail("msg_cli_1");
    await repair();
    const { code, stdout } = await millrace(["retry", "acme", "msg_cli_1"], { env: pipeline.env });
    expect(stdout).toContain("msg_cli_1");
    expect(code).toBe(0);
    await reaches("msg_cli_1", "completed");
    expect(await effectsOf(pipeline.database, "msg_cli_1")).toBe(1);
  });

  test("has all its attempts again after a retry, and fails again when nothing was repaired", async () => {
    await fail("msg_still_1");
    await fetch(`${dashboard.url}/api/events/acme/msg_still_1/retry`, { method: "POST" });
    await until(async () => (await eventOf(pipeline.database, "msg_still_1"))?.attempts === 6);
    await reaches("msg_still_1", "failed");
  });

  test("fails at once when its handler says that no retry will help", async () => {
    await post(ingress.url, { id: "msg_never_1", type: "test.never" });
    expect(await reaches("msg_never_1", "failed")).toMatchObject({ attempts: 1 });
    expect(await effectsOf(pipeline.database, "msg_never_1")).toBe(0);
  });

  test("cannot be retried once it is completed", async () => {
    await post(ingress.url, { id: "msg_done_1", type: "test.effect" });
    await reaches("msg_done_1", "completed");
    const retried = await fetch(`${dashboard.url}/api/events/acme/msg_done_1/retry`, {
      method: "POST",
    });
    expect(retried.status).toBe(409);
    const unknown = await fetch(`${dashboard.url}/api/events/acme/no_such_1/retry`, {
      method: "POST",
    });
    expect(unknown.status).toBe(404);
  });
});
