import { expect, test } from "vitest";
import { onEachBackend, openOn, type TestServers } from "../support/backends.ts";
import { openForEach } from "../support/open-for.ts";
import { createPipeline, post, postOnce, untilCompletedOnce } from "../support/pipeline.ts";
import { eventOf } from "../support/seen-events.ts";
import { startPostgres } from "../support/postgres.ts";
import type { ServerUrls } from "../support/server-urls.ts";
import { until } from "../support/until.ts";
import { startSenders } from "./senders.ts";

const LONG = { withinMs: 90_000 };

onEachBackend("when a process dies", (prepare, backend) => {
  const on = openForEach(() => openPipeline(prepare));

  test("a worker killed in the middle of a handler: the event completes once, within 30 s", async () => {
    const ingress = await on.pipeline.startInProcess("ingress");
    const victim = await on.pipeline.start("worker");
    await post(ingress.url, { id: "msg_kill_1", type: "test.hang_once" });
    await until(() => victim.output().includes("in the handler of msg_kill_1"));
    await on.pipeline.startInProcess("worker");

    const killedAt = Date.now();
    await victim.end("SIGKILL");
    const wrong = await untilCompletedOnce(on.pipeline.database, ["msg_kill_1"], {
      withinMs: 30_000,
    });

    expect(Date.now() - killedAt).toBeLessThan(30_000);
    expect(wrong).toEqual([]);
    expect(await eventOf(on.pipeline.database, "msg_kill_1")).toMatchObject({
      status: "completed",
      attempts: 2,
    });
  });

  test("an ingress killed under load: what it acknowledged completes", async () => {
    const victim = await on.pipeline.start("ingress");
    await on.pipeline.startInProcess("worker");
    const load = startLoad(victim);
    await load.moreAcknowledged(100);
    await victim.end("SIGKILL");
    await load.stop();

    expect(await untilCompletedOnce(on.pipeline.database, load.acknowledged())).toEqual([]);
  });

  test("a graceful stop under load loses nothing that was acknowledged", async () => {
    const ingress = await on.pipeline.start("ingress");
    const worker = await on.pipeline.start("worker");
    await on.pipeline.startInProcess("worker");
    const load = startLoad(ingress, DRAIN);
    await load.moreAcknowledged(50);

    expect(await worker.end("SIGTERM")).toBe(0);
    await load.moreAcknowledged(100);
    expect(await ingress.end("SIGTERM")).toBe(0);
    await load.stop();

    // A connection that the kernel had taken and we had not is reset; what was read is answered,
    // as the ingress's own tests show.
    const expected = new Set<unknown>([
      "ECONNREFUSED",
      "ECONNRESET",
      "UND_ERR_SOCKET",
      200,
      202,
      503,
    ]);
    expect(load.all.filter(({ answer }) => !expected.has(answer))).toEqual([]);
    expect(await untilCompletedOnce(on.pipeline.database, load.acknowledged())).toEqual([]);
  });

  test.runIf(backend === "redis")("Redis restarted under load: nothing is lost", async () => {
    const ingress = await on.pipeline.startInProcess("ingress");
    await Promise.all([1, 2].map(() => on.pipeline.startInProcess("worker")));
    const load = startLoad(ingress, OUTAGE);
    await load.moreAcknowledged(100);

    await on.servers.redis?.kill();
    await load.moreAcknowledged(100);
    await on.servers.redis?.restart();
    await load.moreAcknowledged(100);
    await load.stop();

    // The ingress answers within 2 s; the machine that runs all of this may be busy. A hang is longer.
    expect(load.slowestMs()).toBeLessThan(8_000);
    expect(await untilCompletedOnce(on.pipeline.database, load.acknowledged())).toEqual([]);
  });
});

onEachBackend("when Postgres is restarted under load", (prepare, backend) => {
  test("every acknowledged event completes once", async () => {
    const postgres = await startPostgres();
    const { pipeline, close } = await openPipeline(prepare, { databaseUrl: postgres.url });
    try {
      const ingress = await pipeline.startInProcess("ingress");
      await Promise.all([1, 2].map(() => pipeline.startInProcess("worker")));
      const load = startLoad(ingress, OUTAGE);
      await load.moreAcknowledged(100);

      await postgres.kill();
      await postgres.restart();
      await load.moreAcknowledged(100);
      await load.stop();

      // On Redis the ingress does not need Postgres; without it, the outage must have shown.
      const answers = load.all.map(({ answer }) => answer);
      expect(backend === "redis" || answers.includes(503)).toBe(true);
      expect(await untilCompletedOnce(pipeline.database, load.acknowledged(), LONG)).toEqual([]);
    } finally {
      await close();
      await postgres.stop();
    }
  });
});

async function openPipeline(prepare: () => Promise<TestServers>, over: Partial<ServerUrls> = {}) {
  const servers = await prepare();
  const pipeline = await openOn(servers, () => createPipeline({ ...servers, ...over }));
  const close = async () => {
    await pipeline.stop();
    await servers.release();
  };
  return { servers, pipeline, close };
}

const OUTAGE = { pauseMs: 50 };
const DRAIN = { pauseMs: 20 };

function startLoad(ingress: { readonly url: string }, options?: { pauseMs: number }) {
  const event = { type: "test.effect", source: "patient" } as const;
  return startSenders((id) => postOnce(ingress.url, { id, ...event }), options);
}
