import { appRoutes } from "@bull-board/api/dist/routes.js";
import { MillraceError, toEnvelope } from "@millrace/core";
import { UnrecoverableError, Worker } from "bullmq";
import { expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { openForAll } from "../support/open-for.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { startTestBoard } from "./board-fixture.ts";

const CANARY = "canary-7f3a91";
const ALLOWED = new Set([
  "put /api/queues/:queueName/:jobId/retry",
  "put /api/queues/:queueName/retry/:queueStatus",
  "put /api/queues/:queueName/:jobId/promote",
  "put /api/queues/:queueName/promote",
  "put /api/queues/:queueName/pause",
  "put /api/queues/:queueName/resume",
  "put /api/queues/pause",
  "put /api/queues/resume",
]);
const EVERY_FIELD = {
  ...{ name: "x", data: {}, options: {}, jobData: { forged: true }, force: true },
  ...{ concurrency: 1, max: 1, duration: 1, delay: 1, priority: 1 },
};
const routeTable = appRoutes.api.flatMap((route) =>
  [route.method].flat().flatMap((method) => [route.route].flat().map((path) => ({ method, path }))),
);

describeOnRedis("the queue board", () => {
  const board = openForAll(() =>
    startTestBoard((error, _request, response, _next) => {
      const isForbidden = error instanceof MillraceError && error.code === "forbidden";
      response.status(isForbidden ? 403 : 500).end();
    }),
  );
  const ask = (path: string, method = "GET") => fetch(board.base + path, { method });
  const put = (path: string) => ask(path, "PUT");
  const add = (id: string, name = "order.paid") =>
    board.queue.add(name, envelope(id), { jobId: id, attempts: 1_000 });

  async function work(fail: (id: string) => boolean, done: () => Promise<boolean>): Promise<void> {
    const worker = new Worker(
      board.queue.name,
      async (job) => {
        if (!fail(job.id ?? "")) return { canary: CANARY };
        throw new UnrecoverableError("the switch is off");
      },
      { connection: { url: board.redis.url, maxRetriesPerRequest: null }, drainDelay: 0.1 },
    );
    worker.on("error", () => {});
    try {
      await until(done);
    } finally {
      await worker.close();
    }
  }
  const isIn = (id: string, state: string) => async () =>
    (await board.queue.getJobState(id)) === state;

  test("every write of bull-board's own route table that is not on the list is refused, and changes nothing", async () => {
    await board.queue.pause();
    await add("evt_kept_1");
    await board.queue.add("late", envelope("evt_late_1"), {
      jobId: "evt_late_1",
      delay: 3_600_000,
    });
    const refused = routeTable.filter(
      ({ method, path }) => method !== "get" && !ALLOWED.has(`${method} ${path}`),
    );
    expect(refused.length).toBeGreaterThan(12);
    for (const { method, path } of refused) {
      for (const jobId of ["evt_kept_1", "evt_late_1"]) {
        for (const status of ["wait", "delayed", "completed", "failed"]) {
          const url = path
            .replace(":queueName", board.queue.name)
            .replace(":jobId", jobId)
            .replace(":queueStatus", status);
          const answer = await fetch(board.base + url, {
            method: method.toUpperCase(),
            headers: { "content-type": "application/json" },
            body: JSON.stringify(EVERY_FIELD),
          });
          expect([method, url, answer.status]).toEqual([method, url, 403]);
          expect(await answer.json()).toMatchObject({ error: { code: "forbidden" } });
        }
      }
    }
    expect(await board.queue.getJobCounts("waiting", "delayed", "prioritized", "failed")).toEqual({
      waiting: 1,
      delayed: 1,
      prioritized: 0,
      failed: 0,
    });
    expect((await board.queue.getJob("evt_kept_1"))?.data).toEqual(envelope("evt_kept_1"));
    expect(await board.queue.getGlobalConcurrency()).toBeNull();
    await board.queue.resume();
  });

  test.each([
    ["PUT", "/api/queues/millrace-acme/clean/retry"],
    ["PUT", "/api/queues/millrace-acme/clean/promote"],
    ["PUT", "/API/Queues/millrace-acme/EMPTY"],
    ["PUT", "/api/queues/millrace-acme/empty/"],
    ["PUT", "/api/queues/millrace-acme/%65mpty"],
    ["PUT", "/api/queues/millrace-acme/clean/failed?queueStatus=retry"],
    ["PUT", "/api/queues/millrace-acme/retry/completed"],
    ["POST", "/api/queues/millrace-acme/obliterate"],
    ["DELETE", "/api/queues/millrace-acme/evt_kept_1"],
    ["POST", "/api/metrics/history/purge"],
    ["POST", "/"],
  ])("%s %s is refused", async (method, path) => {
    expect((await ask(path, method)).status).toBe(403);
    expect(await board.queue.getJob("evt_kept_1")).toBeDefined();
  });

  test("no read shows a body, a result, a progress or the name of a forged job", async () => {
    await board.queue.pause();
    await add("evt_seen_1");
    await board.queue.add(CANARY, { canary: CANARY, nested: [CANARY] }, { jobId: "forged_1" });
    await (await board.queue.getJob("forged_1"))?.updateProgress({ canary: CANARY });
    await board.queue.upsertJobScheduler("s", { every: 3_600_000 }, { data: { canary: CANARY } });
    const answers: string[] = [];
    for (const { path } of routeTable.filter(({ method }) => method === "get")) {
      for (const id of ["evt_seen_1", "forged_1"]) {
        if (id === "forged_1" && path.endsWith("/flow")) continue;
        for (const query of [
          "",
          "?activeQueue=millrace-acme&status=latest&page=1&jobsPerPage=50",
        ]) {
          const url = path.replace(":queueName", board.queue.name).replace(":jobId", id) + query;
          answers.push(await (await ask(url)).text());
        }
      }
    }
    const all = answers.join("\n");
    expect(all).toContain("evt_seen_1");
    expect(all).toContain("order.paid");
    expect(all).toContain('"href":"/event?source=acme&id=evt_seen_1&generation=0"');
    expect(all).not.toContain(CANARY);
    await board.queue.removeJobScheduler("s");
    await (await board.queue.getJob("forged_1"))?.remove();
    await board.queue.resume();
  });

  test("a failed job is retried by its route, and a completed one is not", async () => {
    await add("evt_fail_1");
    await add("evt_done_1");
    await work((id) => id === "evt_fail_1", isIn("evt_fail_1", "failed"));
    await work(() => false, isIn("evt_done_1", "completed"));

    expect((await put("/api/queues/millrace-acme/evt_fail_1/retry")).status).toBe(204);
    expect(await board.queue.getJobState("evt_fail_1")).toBe("waiting");
    const again = await put("/api/queues/millrace-acme/evt_fail_1/retry");
    expect([again.status, await codeOf(again)]).toEqual([409, "not_failed"]);
    const done = await put("/api/queues/millrace-acme/evt_done_1/retry");
    expect([done.status, await codeOf(done)]).toEqual([409, "not_failed"]);
    expect(await board.queue.getJobState("evt_done_1")).toBe("completed");
    expect((await put("/api/queues/millrace-acme/no_such_1/retry")).status).toBe(404);
    await work(() => false, isIn("evt_fail_1", "completed"));
  });

  test("all failed jobs are retried, delayed ones promoted, queues paused and resumed", async () => {
    await Promise.all(["evt_a_1", "evt_b_1"].map((id) => add(id)));
    const failed = async () => (await board.queue.getFailedCount()) === 2;
    await work((id) => /^evt_[ab]_1$/.test(id), failed);
    expect((await put("/api/queues/millrace-acme/retry/failed")).status).toBe(200);
    expect(await board.queue.getFailedCount()).toBe(0);

    expect((await put("/api/queues/millrace-acme/evt_late_1/promote")).status).toBe(204);
    expect(await board.queue.getJobState("evt_late_1")).toBe("waiting");
    for (const scope of ["/millrace-acme", ""]) {
      expect((await put(`/api/queues${scope}/pause`)).status).toBe(200);
      expect(await board.queue.isPaused()).toBe(true);
      expect((await put(`/api/queues${scope}/resume`)).status).toBe(200);
      expect(await board.queue.isPaused()).toBe(false);
    }
  });

  test("its page asks no other host for anything", async () => {
    for (const path of ["", "/", "/queue/millrace-acme"]) {
      const page = await (await ask(path)).text();
      expect(page).toContain('<div id="root">');
      expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    }
  });

  test("what goes wrong inside it is not told to the browser", async () => {
    const answer = await ask("/api/queues?activeQueue=%25E0%25A4%25A");
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: "internal" } });
  });
});

async function codeOf(answer: Response): Promise<unknown> {
  const body = (await answer.json()) as { error?: { code?: unknown } };
  return body.error?.code;
}

function envelope(eventId: string) {
  const body = Buffer.from(JSON.stringify({ card: CANARY }));
  const headers = { "x-note": CANARY };
  const acceptedAtMs = 1_790_000_000_000;
  return toEnvelope(anEvent({ source: "acme", eventId, acceptedAtMs, headers, body }));
}
