import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { millrace } from "../support/run-in-process.ts";
import { effectsOf, reaches } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

onOneBackend("an event whose handler asks to wait", (prepare) => {
  const stack = openForAll(() => startStack(prepare, { worker: false }));

  const ends = (id: string, status: string) => reaches(stack.pipeline.database, id, status);
  const waitsOf = async (id: string) => {
    const text = "select waits from millrace.events where event_id = $1";
    const { rows } = await stack.pipeline.database.query<{ waits: number }>(text, [id]);
    return rows[0]?.waits ?? 0;
  };

  test("waits more often than its source has attempts, outlives its worker, and completes once", async () => {
    const victim = await stack.pipeline.start("worker");
    await post(stack.ingress.url, { id: "msg_waits_1", type: "test.waits" });
    await until(async () => (await waitsOf("msg_waits_1")) > 0);
    await victim.end("SIGKILL");
    await stack.pipeline.startInProcess("worker");
    expect(await ends("msg_waits_1", "completed")).toMatchObject({ attempts: 4 });
    expect(await waitsOf("msg_waits_1")).toBe(3);
    expect(await effectsOf(stack.pipeline.database, "msg_waits_1")).toBe(1);
  });

  test("says that it waits, for how long, and why", async () => {
    await post(stack.ingress.url, { id: "msg_waits_2", type: "test.waits_on" });
    await until(async () => (await waitsOf("msg_waits_2")) > 0);
    const answer = await fetch(`${stack.dashboard.url}/api/events/acme/msg_waits_2`);
    const event = (await answer.json()) as { next_attempt_at: string };
    expect(event).toMatchObject({
      status: "pending",
      last_error: "RetryLater: The carrier is closed",
      last_error_code: "retry_later",
      attempt_log: [{ attempt: 1, code: "retry_later", counted: false }],
    });
    const leftMs = Date.parse(event.next_attempt_at) - Date.now();
    expect(leftMs).toBeGreaterThan(500_000);
    expect(leftMs).toBeLessThanOrEqual(600_000);

    const { env } = stack.pipeline;
    const one = await millrace(["events", "acme", "msg_waits_2"], { env });
    expect(one.stdout).toMatch(/next_attempt_at +\S+Z \(waits 9m\)/);
    expect(one.stdout).toMatch(
      /attempts that failed or waited\n +1 +\S+Z +retry_later +RetryLater/,
    );
    const list = await millrace(["events", "--status", "pending"], { env });
    expect(list.stdout).toMatch(/msg_waits_2 .* waits 9m +RetryLater: The carrier is closed/);
  });

  test("fails when it has waited for waitMaxMs, after a last attempt at that time", async () => {
    const sentAt = Date.now();
    await post(stack.ingress.url, {
      id: "msg_waits_3",
      type: "test.waits_on",
      source: "patient",
    });
    expect(await ends("msg_waits_3", "failed")).toMatchObject({
      attempts: 2,
      last_error: expect.stringContaining("RetryLater: The carrier is closed"),
    });
    expect(Date.now() - sentAt).toBeGreaterThanOrEqual(8_000);
    expect(await effectsOf(stack.pipeline.database, "msg_waits_3")).toBe(0);
    const { env } = stack.pipeline;
    const retried = await millrace(["retry", "patient", "msg_waits_3"], { env });
    expect(retried.code).toBe(0);
    await until(async () => (await waitsOf("msg_waits_3")) >= 2);
  });
});
