import { expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { openForEach } from "../../support/open-for.ts";
import { until } from "../../support/until.ts";
import { openHangingServers } from "./hanging-servers.ts";

const TIMED_OUT = { code: "handler_timeout", attempt: 1 };

const hanging = openForEach(openHangingServers);

describeOnRedis(
  "a worker ends an attempt that Postgres no longer answers, and its event completes once",
  () => {
    test.each([
      ["its row is being locked", "millrace_lock", "off", 1],
      // A COMMIT that was sent is not taken for done, and not for failed.
      ["its COMMIT was sent", "millrace_settle", "off", 0],
      ["its first attempt is admitted", "millrace_admit", "on", 0],
      ["its first attempt is completed", "millrace_complete_one", "on", 0],
    ] as const)("when %s", async (_, statement, groups, failures) => {
      const ingress = await hanging.startIngress();
      await hanging.startWorker({ MILLRACE_GROUPS: groups });
      hanging.toPostgres.strandAfter(statement);
      await hanging.take(ingress, "evt_1", "test.effect");
      await until(() => hanging.toPostgres.struck > 0, { what: `${statement} that hangs` });
      hanging.toPostgres.strandAfter(undefined);
      if (failures > 0) expect(await failureOf("evt_1")).toMatchObject(TIMED_OUT);
      await hanging.expectCompletedOnce();
      if (groups === "on") return;
      const { rows } = await hanging.pipeline.database.query(
        `select e.attempts, (select count(*)::int from millrace.attempts) as failures
       from millrace.events e where e.event_id = 'evt_1'`,
      );
      expect(rows).toEqual([{ attempts: 1 + failures, failures }]);
    });
  },
);

describeOnRedis(
  "a worker ends the attempt of a handler that goes on, and the retry completes its event once",
  () => {
    test.each([
      {
        title: "Redis hangs",
        type: "test.never_ends",
        strike: () => hanging.servers.redis?.freeze(),
        heal: () => hanging.servers.redis?.thaw(),
      },
      {
        title: "its connection to Postgres is half-open",
        type: "test.asks_on",
        strike: () => hanging.toPostgres.strand(),
        heal: () => {},
      },
      {
        title: "other events' COMMITs hang",
        type: "test.never_ends",
        strike: () => hanging.toPostgres.strandAfter("COMMIT"),
        heal: () => hanging.toPostgres.strandAfter(undefined),
      },
    ])("while $title", async ({ title, type, strike, heal }) => {
      const ingress = await hanging.startIngress();
      const worker = await hanging.startWorker();
      const id = await hanging.take(ingress, "evt_1", type);
      await until(() => worker.output().includes(`in the handler of ${id}\n`), {
        what: "it begun",
      });
      strike();
      if (title.includes("COMMIT")) {
        for (const n of [2, 3, 4]) await hanging.take(ingress, `evt_${n}`, "test.effect");
        await until(() => hanging.toPostgres.struck > 0, { what: "a COMMIT that hangs" });
      } else expect(await failureOf("evt_1")).toMatchObject(TIMED_OUT);
      heal();
      await hanging.expectCompletedOnce();
      expect(await failureOf("evt_1")).toMatchObject(TIMED_OUT);
    });
  },
);

async function failureOf(id: string): Promise<{ code: string; attempt: number }> {
  return await until(
    async () => {
      const { rows } = await hanging.pipeline.database.query<{ code: string; attempt: number }>(
        "select code, attempt from millrace.attempts where event_id = $1 order by attempt limit 1",
        [id],
      );
      return rows[0];
    },
    // Each half-open connection that was idle takes 12 s; a worker tries for a minute.
    { withinMs: 60_000, what: `a failed attempt of ${id}` },
  );
}
