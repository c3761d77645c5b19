import { randomUUID } from "node:crypto";
import { sign } from "@octokit/webhooks-methods";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { millrace } from "../support/run-in-process.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { SECRETS, startStack, type Pipeline, type Stack } from "../support/pipeline.ts";
import { effectsOf, eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

onOneBackend("a body that comes again under an id that nobody signed", (prepare) => {
  let stack: Stack;
  let pipeline: Pipeline;
  let ingress: RoleInProcess;
  let dashboard: RoleInProcess;

  beforeAll(async () => {
    stack = await startStack(prepare);
    ({ pipeline, ingress, dashboard } = stack);
  });
  afterAll(() => stack?.close());

  async function push(source: "github" | "mirror", body: string): Promise<string> {
    const id = randomUUID();
    const response = await fetch(`${ingress.url}/webhooks/${source}`, {
      method: "POST",
      headers: {
        "x-github-delivery": id,
        "x-github-event": "push",
        "x-hub-signature-256": await sign(SECRETS[source], body),
      },
      body,
    });
    expect(response.status).toBe(202);
    return id;
  }
  const completed = (id: string) =>
    until(
      async () => {
        const event = await eventOf(pipeline.database, id);
        return event?.status === "completed" ? event : undefined;
      },
      { what: `${id} completed` },
    );

  test("has no second effect, and is shown as a suspected replay", async () => {
    const body = JSON.stringify({ after: randomUUID() });
    const first = await push("github", body);
    expect(await completed(first)).toMatchObject({ outcome: "handled" });
    const second = await push("github", body);
    expect(await completed(second)).toMatchObject({ outcome: "suspected_replay", attempts: 1 });
    expect(await effectsOf(pipeline.database, first)).toBe(1);
    expect(await effectsOf(pipeline.database, second)).toBe(0);
    const answer = await fetch(`${dashboard.url}/api/events?outcome=suspected_replay`);
    const { events } = (await answer.json()) as { events: { event_id: string }[] };
    expect(events.map((event) => event.event_id)).toEqual([second]);
    const listed = await millrace(["events", "--source", "github"], { env: pipeline.env });
    expect(listed.stdout).toMatch(new RegExp(`${second}\\s+push\\s+suspected_replay`));
  });

  test("of two at once has one effect", async () => {
    const body = JSON.stringify({ after: randomUUID() });
    const ids = await Promise.all([push("github", body), push("github", body)]);
    const outcomes = await Promise.all(ids.map(async (id) => (await completed(id))?.outcome));
    expect(new Set(outcomes)).toEqual(new Set(["handled", "suspected_replay"]));
    const effects = await Promise.all(ids.map((id) => effectsOf(pipeline.database, id)));
    expect(effects.reduce((sum, count) => sum + count)).toBe(1);
  });

  test("runs again where bodyDedup is false", async () => {
    const body = JSON.stringify({ after: randomUUID() });
    const ids = [await push("mirror", body), await push("mirror", body)];
    for (const id of ids) {
      expect(await completed(id)).toMatchObject({ outcome: "handled" });
      expect(await effectsOf(pipeline.database, id)).toBe(1);
    }
  });
});
