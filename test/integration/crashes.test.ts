import { afterEach, beforeEach, expect, test } from "vitest";
import { onEachBackend, type Ground } from "../support/backends.ts";
import {
  createPipeline,
  effectsOf,
  eventOf,
  post,
  postOnce,
  type Pipeline,
} from "../support/pipeline.ts";
import { startPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

onEachBackend("when a process dies", (prepare, backend) => {
  let ground: Ground;
  let pipeline: Pipeline;

  beforeEach(async () => {
    ground = await prepare();
    pipeline = await createPipeline(ground);
  });
  afterEach(async () => {
    await pipeline?.stop();
    await ground?.release();
  });

  test("a worker killed in the middle of a handler: the event completes once, within 30 s", async () => {
    const ingress = await pipeline.startInProcess("ingress");
    const victim = await pipeline.start("worker");
    await post(ingress.url, { id: "msg_kill_1", type: "test.hang_once" });
    await until(() => victim.output().includes("in the handler of msg_kill_1"));
    await pipeline.startInProcess("worker");

    const killedAt = Date.now();
    await victim.end("SIGKILL");
    await settled(pipeline, ["msg_kill_1"], 30_000);

    expect(Date.now() - killedAt).toBeLessThan(30_000);
    expect(await eventOf(pipeline.database, "msg_kill_1")).toMatchObject({
      status: "completed",
      attempts: 2,
    });
    expect(await effectsOf(pipeline.database, "msg_kill_1")).toBe(1);
  });

  test("an ingress killed under load: what it acknowledged completes", async () => {
    const victim = await pipeline.start("ingress");
    await pipeline.startInProcess("worker");
    const load = startLoad(victim);
    await until(() => load.acknowledged.length > 100);
    await victim.end("SIGKILL");
    await load.stop();

    await settled(pipeline, load.acknowledged);
    await expectOneEffectEach(pipeline, load.acknowledged);
  });

  test("a graceful stop under load loses nothing that was acknowledged", async () => {
    const ingress = await pipeline.start("ingress");
    const worker = await pipeline.start("worker");
    await pipeline.startInProcess("worker");
    const load = startLoad(ingress, DRAIN);
    await until(() => load.acknowledged.length > 50);

    expect(await worker.end("SIGTERM")).toBe(0);
    await until(() => load.acknowledged.length > 150);
    expect(await ingress.end("SIGTERM")).toBe(0);
    await load.stop();

    // A connection that the kernel had taken and we had not is reset; what was read is answered,
    // as the ingress's own tests show.
    const expected = new Set(["ECONNREFUSED", "ECONNRESET", "UND_ERR_SOCKET", "503"]);
    expect(load.broken.filter((code) => !expected.has(code))).toEqual([]);
    await settled(pipeline, load.acknowledged);
    await expectOneEffectEach(pipeline, load.acknowledged);
  });

  test.runIf(backend === "redis")(
    "Redis killed and restarted under load: nothing is lost",
    async () => {
      const ingress = await pipeline.startInProcess("ingress");
      await Promise.all([1, 2].map(() => pipeline.startInProcess("worker")));
      const load = startLoad(ingress, OUTAGE);
      await until(() => load.acknowledged.length > 100);

      await ground.redis?.kill();
      const dark = load.acknowledged.length;
      // The ledger takes what comes meanwhile.
      await until(() => load.acknowledged.length > dark + 100);
      await ground.redis?.restart();
      const light = load.acknowledged.length;
      await until(() => load.acknowledged.length > light + 100);
      await load.stop();

      // The ingress answers within 2 s; the machine that runs all of this may be busy. A hang is longer.
      expect(load.slowestMs).toBeLessThan(8_000);
      await settled(pipeline, load.acknowledged);
      await expectOneEffectEach(pipeline, load.acknowledged);
    },
  );
});

onEachBackend("when Postgres is restarted under load", (prepare, backend) => {
  test("every acknowledged event completes once", async () => {
    const postgres = await startPostgres();
    const ground = await prepare();
    const pipeline = await createPipeline({ ...ground, databaseUrl: postgres.url });
    try {
      const ingress = await pipeline.startInProcess("ingress");
      await Promise.all([1, 2].map(() => pipeline.startInProcess("worker")));
      const load = startLoad(ingress, OUTAGE);
      await until(() => load.acknowledged.length > 100);
      const before = load.acknowledged.length;

      await postgres.kill();
      await postgres.restart();
      await until(() => load.acknowledged.length > before + 100, { withinMs: 60_000 });
      await load.stop();

      // On Redis the ingress does not need Postgres; without it, the outage must have shown.
      expect(backend === "redis" || load.broken.includes("503")).toBe(true);
      await settled(pipeline, load.acknowledged, 90_000);
      await expectOneEffectEach(pipeline, load.acknowledged);
    } finally {
      await pipeline.stop();
      await ground.release();
      await postgres.stop();
    }
  });
});

interface Load {
  /** Ids that were answered 2xx. */
  readonly acknowledged: string[];
  /** Status or error code of every other answer. */
  readonly broken: string[];
  readonly slowestMs: number;
  stop(): Promise<void>;
}

/** Between two posts of a sender: what comes in an outage, or while a worker drains, is all worked off later. */
const OUTAGE = { pauseMs: 50 };
const DRAIN = { pauseMs: 20 };

/** Eight senders that post one event after another until they are stopped. */
function startLoad(ingress: { readonly url: string }, { pauseMs } = { pauseMs: 0 }): Load {
  const acknowledged: string[] = [];
  const broken: string[] = [];
  let slowestMs = 0;
  let stopped = false;
  const sender = async (lane: number) => {
    for (let n = 0; !stopped; n += 1) {
      const id = `msg_load_${lane}_${n}`;
      const began = performance.now();
      try {
        const { status } = await postOnce(ingress.url, {
          id,
          type: "test.effect",
          source: "patient",
        });
        if (status < 300) acknowledged.push(id);
        else broken.push(String(status));
      } catch (error) {
        broken.push(codeOf(error));
        // A refused connection costs no time: without a turn to breathe this would spin.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      slowestMs = Math.max(slowestMs, performance.now() - began);
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const senders = Array.from({ length: 8 }, (_, lane) => sender(lane));
  return {
    acknowledged,
    broken,
    get slowestMs() {
      return slowestMs;
    },
    stop: async () => {
      stopped = true;
      await Promise.all(senders);
    },
  };
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
  return cause?.code ?? String(error);
}

async function settled(
  pipeline: Pipeline,
  ids: readonly string[],
  withinMs = 60_000,
): Promise<void> {
  await until(
    async () => {
      const { rows } = await pipeline.database.query(
        "select count(*)::int from webhook_events where status = 'completed' and event_id = any($1)",
        [ids],
      );
      return rows[0].count === ids.length;
    },
    { withinMs, what: `${ids.length} events completed` },
  );
}

async function expectOneEffectEach(pipeline: Pipeline, ids: readonly string[]): Promise<void> {
  const { rows } = await pipeline.database.query(
    "select event_id, count(*)::int as effects from effects group by 1 having count(*) <> 1",
  );
  expect(rows).toEqual([]);
  const { rows: seen } = await pipeline.database.query(
    "select count(*)::int from effects where event_id = any($1)",
    [ids],
  );
  expect(seen[0].count).toBe(ids.length);
}
