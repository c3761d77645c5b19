import { on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { millrace } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";

const LEVELS = 500_000;
const ID = "evt_deep_1";

onOneBackend("JSON of 500,000 levels", (prepare) => {
  const seen: unknown[] = [];
  const body = `{"type":"thing.happened","data":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}}`;

  const config = {
    sources: { acme: standardWebhooks({ attempts: 1 }) },
    handlers: [on("acme", "*", ({ payload }) => void seen.push(typeof payload.data))],
  };
  const stack = openForAll(() => startStack(prepare, { config }));

  test("does not hold up the ingress, and reaches its handler", async () => {
    await post(stack.ingress.url, { id: "evt_warm_1", type: "thing.happened" });
    let longestMs = 0;
    let tickAt = performance.now();
    const ticking = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - tickAt);
      tickAt = performance.now();
    }, 5);
    const answer = await post(stack.ingress.url, { id: ID, type: "thing.happened", body });
    await until(() => seen.length === 2);
    clearInterval(ticking);
    expect(answer.status).toBe(202);
    expect(seen).toEqual(["object", "object"]);
    // All roles share this process, so this is the ingress and the worker together.
    const beganMs = performance.now();
    JSON.parse(body);
    const parseMs = performance.now() - beganMs;
    expect(longestMs).toBeLessThan(Math.max(1_000, 12 * parseMs));
  });

  test("is shown by the API, with its first text in place of its parts, and its exact bytes apart", async () => {
    // The handler is called before the event is completed.
    const event = await until(async () => {
      const response = await fetch(`${stack.dashboard.url}/api/events/acme/${ID}`);
      const shown = (await response.json()) as Record<string, unknown>;
      return response.status === 200 && shown["status"] === "completed" && shown;
    });
    expect(event).toMatchObject({ payload: null, body_encoding: "utf8", body_truncated: true });
    const shown = String(event["body"]);
    expect([shown.length, body.startsWith(shown)]).toEqual([256 * 1024, true]);
    const bytes = await fetch(`${stack.dashboard.url}/api/events/acme/${ID}/body`);
    expect((await bytes.text()) === body).toBe(true);
  });

  test("is shown by the command", async () => {
    const show = (...args: string[]) =>
      millrace(["events", "acme", ID, ...args], { env: stack.pipeline.env });
    const { code, stdout } = await show();
    expect([code, stdout.includes(body.slice(0, 1_000))]).toEqual([0, true]);
    const exact = await show("--body");
    expect([exact.code, exact.stdout === body]).toEqual([0, true]);
    const json = await show("--json");
    expect(json.code).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({ status: "completed", payload: null });
  });
});
