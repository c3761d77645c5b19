import { fileURLToPath, pathToFileURL } from "node:url";
import type { BulkRun } from "@millrace/api-contract";
import type { Failpoint } from "@millrace/core";
import { beforeAll, expect, test } from "vitest";
import exported from "../fixtures/bulk-run/millrace.config.ts";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const MILLRACE_CONFIG = fixture("bulk-run/millrace.config.ts");
const DIE_AT = `--import=${pathToFileURL(fixture("bulk-run/die-at.mjs")).href}`;

const DEATHS: readonly Failpoint[] = [
  "bulk_run.before_batch",
  "bulk_run.members_added",
  "bulk_run.committed",
  "bulk_run.enqueued",
];
const EVENTS = 100;
const OTHERS = 5;
const RATE = 10;

onOneBackend("bulk runs whose workers are killed", (prepare, backend) => {
  const env = { MILLRACE_CONFIG };
  const stack = openForAll(() => startStack(prepare, { env, config: exported, worker: false }));
  let runs: { retry: number; replay: number };

  const ask = async <Row extends object>(text: string): Promise<Row[]> =>
    (await stack.pipeline.database.query<Row>(text)).rows;
  const count = async (from: string): Promise<number> =>
    (await ask<{ n: number }>(`SELECT count(*)::int AS n FROM ${from}`))[0]?.n ?? -1;

  async function call(path: string, body?: object): Promise<BulkRun> {
    const answer = await fetch(`${stack.dashboard.url}/api/${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json" },
    });
    return ((await answer.json()) as { run: BulkRun }).run;
  }
  const get = (id: number) => call(`runs/${id}`);
  const ended = (id: number) =>
    until(
      async () => {
        const run = await get(id);
        return run.finished_at !== null && run.results.pending === 0 && run;
      },
      { withinMs: 110_000, what: `the end of run ${id}` },
    );

  const send = (name: string, events: number) =>
    Promise.all(
      Array.from({ length: events }, (_, n) =>
        post(stack.ingress.url, { id: `msg_${name}_${n}`, type: "order.permanent", data: {} }),
      ),
    );

  beforeAll(async () => {
    await Promise.all([send("failed", EVENTS), send("other", OTHERS)]);
    const worker = await stack.pipeline.startInProcess("worker");
    const untilAre = (status: string, events: number) =>
      until(async () => (await count(`webhook_events WHERE status = '${status}'`)) === events);
    await untilAre("failed", EVENTS + OTHERS);
    await ask("INSERT INTO switches VALUES ('repaired')");
    await send("good", EVENTS);
    await untilAre("completed", EVENTS);
    await worker.close();
    const how = { rate: RATE, reason: "the switch is set" };
    const retry = await call("retry", { q: "msg_failed_", ...how });
    const replay = await call("replay", { q: "msg_good_", ...how });
    runs = { retry: retry.id, replay: replay.id };
  });

  test.each(DEATHS)("are left half-way by the worker that dies at %s", async (step) => {
    const worker = await stack.pipeline.start("worker", { NODE_OPTIONS: DIE_AT, DIE_AT: step });
    await worker.exited();
    expect(worker.output()).not.toContain("bulk run 1 failed");
    for (const id of Object.values(runs)) {
      const { state, listed } = await get(id);
      expect([state, listed < EVENTS]).toEqual(["running", true]);
    }
    const listed = "(SELECT sum(listed)::int FROM millrace.bulk_runs)";
    expect(await count(`millrace.bulk_members HAVING count(*) <> ${listed}`)).toBe(-1);
  });

  test("are carried on to their end by the next one: each event once, the others untouched", async () => {
    const began = await Promise.all(Object.values(runs).map(get));
    for (const { listed } of began) expect(listed).toBeGreaterThan(0);
    await stack.pipeline.startInProcess("worker");
    for (const id of Object.values(runs)) {
      expect(await ended(id)).toMatchObject({
        ...{ state: "finished", total: EVENTS, listed: EVENTS, done: EVENTS, skipped: {} },
        ...{ results: { completed: EVENTS, failed: 0, pending: 0 }, errors: 0 },
      });
    }
    const effects = await ask(
      `SELECT substring(event_id FROM 'msg_(.*)_') AS name, count(DISTINCT event_id)::int AS events,
         count(*)::int AS effects FROM effects GROUP BY 1 ORDER BY 1`,
    );
    expect(effects).toEqual([
      { name: "failed", events: EVENTS, effects: EVENTS },
      { name: "good", events: EVENTS, effects: 2 * EVENTS },
    ]);
    const rows = await ask(
      `SELECT substring(event_id FROM 'msg_(.*)_') AS name, generation, status, count(*)::int AS events
       FROM webhook_events GROUP BY 1, 2, 3 ORDER BY 1, 2`,
    );
    expect(rows).toEqual([
      { name: "failed", generation: 0, status: "completed", events: EVENTS },
      { name: "good", generation: 0, status: "completed", events: EVENTS },
      { name: "good", generation: 1, status: "completed", events: EVENTS },
      { name: "other", generation: 0, status: "failed", events: OTHERS },
    ]);
    expect(await count("webhook_events WHERE event_id LIKE 'msg_other_%' AND attempts = 1")).toBe(
      OTHERS,
    );
    // Five workers wrote no entry: the two are of the person who started the runs.
    expect(await ask("SELECT action, reason FROM millrace.audit ORDER BY id")).toEqual([
      { action: "retry_many", reason: "the switch is set" },
      { action: "replay_many", reason: "the switch is set" },
    ]);
  });

  test.runIf(backend === "redis")(
    "wait while Redis is down, say so, and go on when it is back: each event once",
    async () => {
      const { redis } = stack.servers;
      const { id } = await call("replay", { q: "msg_failed_", rate: 2 * RATE });
      await until(async () => (await get(id)).listed > 0);
      await redis?.kill();
      const waiting = await until(async () => {
        const run = await get(id);
        return run.error !== null && run;
      });
      expect(waiting).toMatchObject({ state: "running", finished_at: null });
      expect(waiting.listed).toBeLessThan(EVENTS);
      await redis?.restart();
      expect(await ended(id)).toMatchObject({
        ...{ state: "finished", done: EVENTS, skipped: {}, error: null },
        ...{ results: { completed: EVENTS, failed: 0, pending: 0 } },
      });
      expect(await count("effects WHERE event_id LIKE 'msg_failed_%'")).toBe(2 * EVENTS);
    },
  );
});
