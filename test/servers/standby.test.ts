import { on, standardWebhooks } from "millrace";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readiness } from "../integration/two-stores.ts";
import { describeOnStandby } from "../support/describe-on-servers.ts";
import { createPipeline, post, postOnce, type Pipeline } from "../support/pipeline.ts";
import { startPostgresPair, type PostgresPair } from "../support/postgres-standby.ts";
import { startRedis, type TestRedis } from "../support/redis-server.ts";
import { until } from "../support/until.ts";

const CONFIG = {
  sources: { acme: standardWebhooks({ ack: "ledger" }), patient: standardWebhooks() },
  handlers: [
    on("acme", "*", async ({ id }, { tx }) => {
      await tx.execute(sql`insert into effects (event_id) values (${id})`);
    }),
  ],
};

const isReadOnly = async (role: { url: string }, part: string) =>
  (await readiness(role)).parts[part] === "database_read_only";

describeOnStandby("on a Postgres with a standby", () => {
  describe.each(["redis", "postgres"] as const)("and a queue on %s,", (backend) => {
    let pair: PostgresPair;
    let redis: TestRedis | undefined;
    let pipeline: Pipeline;
    beforeAll(async () => {
      [pair, redis] = await Promise.all([
        startPostgresPair(),
        backend === "redis" ? startRedis() : undefined,
      ]);
      pipeline = await createPipeline({ databaseUrl: pair.url, redisUrl: redis?.url }, {}, CONFIG);
      await pair.primary.query("CREATE TABLE effects (event_id text)");
      await pair.caughtUp();
    });
    afterAll(async () => {
      await pipeline?.stop();
      await Promise.all([pair?.stop(), redis?.stop()]);
    });

    test("an ingress whose ledger is the standby stores in the queue if it can, and says why", async () => {
      const ingress = await pipeline.start("ingress", { DATABASE_URL: pair.standby.url });
      await until(() => isReadOnly(ingress, "ledger"));
      const { status } = await postOnce(ingress.url, { id: "evt_aside", type: "any" });
      expect(status).toBe(backend === "redis" ? 202 : 503);
      await ingress.end("SIGTERM");
    });

    test("a dashboard on the standby shows events, is not ready, and says why", async () => {
      if (backend === "postgres") {
        const starting = pipeline.start("dashboard", { DATABASE_URL: pair.standby.url });
        // Its queue cannot be opened without a write.
        await expect(starting).rejects.toThrow(
          /Name the primary in DATABASE_URL.*\(database_read_only\)/,
        );
        return;
      }
      const dashboard = await pipeline.start("dashboard", { DATABASE_URL: pair.standby.url });
      expect(await readiness(dashboard)).toMatchObject({
        httpStatus: 503,
        parts: { ledger: "database_read_only" },
      });
      const { items } = (await (await fetch(`${dashboard.url}/api/health`)).json()) as {
        items: readonly { readonly id: string; readonly text: string }[];
      };
      expect(items.find(({ id }) => id === "postgres")?.text).toBe("Postgres takes no writes");
      expect((await fetch(`${dashboard.url}/api/events`)).status).toBe(200);
      await dashboard.end("SIGTERM");
    });

    test("roles are not ready after a failover until the name leads to the new primary, and lose nothing", async () => {
      const [ingress, worker, dashboard] = await Promise.all([
        pipeline.startInProcess("ingress"),
        pipeline.startInProcess("worker"),
        pipeline.startInProcess("dashboard"),
      ]);
      const ids = Array.from({ length: 60 }, (_, index) => `evt_failed_over_${index}`);
      for (const id of ids.slice(0, 20)) await post(ingress.url, { id, type: "any" });

      // The primary is demoted where it is, as a cluster's manager does, and the standby promoted.
      await pair.primary.query("ALTER SYSTEM SET default_transaction_read_only = on");
      await pair.primary.query("SELECT pg_reload_conf()");
      await until(() => isReadOnly(worker, "postgres"));
      for (const role of [ingress, dashboard]) await until(() => isReadOnly(role, "ledger"));
      await pair.caughtUp();
      await pair.promote();

      // The name moves, and the connections that are there stay: the roles close them by themselves.
      pair.moveName({ cut: false });
      for (const role of [ingress, worker, dashboard]) {
        await until(async () => (await readiness(role)).httpStatus === 200);
      }
      for (const id of ids.slice(20)) await post(ingress.url, { id, type: "any" });
      const completed = `SELECT FROM millrace.events
        WHERE status = 'completed' AND event_id LIKE 'evt_failed_over_%'`;
      await until(async () => (await pair.standby.query(completed)).length === ids.length);
      const effects = await pair.standby.query<{ event_id: string }>(
        "SELECT event_id FROM effects WHERE event_id LIKE 'evt_failed_over_%'",
      );
      expect(effects.map(({ event_id: id }) => id).toSorted()).toEqual(ids.toSorted());
      await Promise.all([ingress, worker, dashboard].map((role) => role.close()));
    });
  });
});
