import { expect, test } from "vitest";
import type { MillraceProcess } from "../../support/millrace-process.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { openForEach } from "../../support/open-for.ts";
import { until } from "../../support/until.ts";
import { openHangingServers } from "./hanging-servers.ts";

// What bounds a handler's run when a server hangs. Each test goes through the roles' own doors, whoever keeps
// the time inside: it fails when nobody does.

const RECORDED_FIRST = { MILLRACE_GROUPS: "off" };

const hanging = openForEach(openHangingServers);

describeOnRedis("a worker ends an attempt that Postgres no longer answers", () => {
  test("in the handler's time when the event's row is being locked, and the retry completes the event once", async () => {
    const ingress = await hanging.startIngress();
    await hanging.startWorker(RECORDED_FIRST);
    hanging.toPostgres.strandAfter("millrace_lock");
    await hanging.take(ingress, "evt_1", "test.effect");
    await until(() => hanging.toPostgres.struck > 0, { what: "a lock that hangs" });
    hanging.toPostgres.strandAfter(undefined);
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
    await hanging.expectCompletedOnce();
  });

  test("in a statement's time when its COMMIT was sent, and takes it neither for done nor for failed", async () => {
    const ingress = await hanging.startIngress();
    await hanging.startWorker(RECORDED_FIRST);
    hanging.toPostgres.strandAfter("millrace_settle");
    await hanging.take(ingress, "evt_1", "test.effect");
    await until(() => hanging.toPostgres.struck > 0, { what: "a COMMIT that hangs" });
    hanging.toPostgres.strandAfter(undefined);
    await hanging.expectCompletedOnce();
    const { rows } = await hanging.pipeline.database.query(
      `select e.attempts, (select count(*)::int from millrace.attempts) as failures
       from millrace.events e where e.event_id = 'evt_1'`,
    );
    expect(rows).toEqual([{ attempts: 1, failures: 0 }]);
  });

  test.each([
    ["is admitted", "millrace_admit"],
    ["is completed", "millrace_complete_first"],
  ])("also in a first attempt that %s, and the event completes once", async (_, statement) => {
    const ingress = await hanging.startIngress();
    await hanging.startWorker();
    hanging.toPostgres.strandAfter(statement);
    await hanging.take(ingress, "evt_1", "test.effect");
    await until(() => hanging.toPostgres.struck > 0, { what: "a statement that hangs" });
    hanging.toPostgres.strandAfter(undefined);
    await hanging.expectCompletedOnce();
  });
});

describeOnRedis("a worker ends the attempt of a handler that goes on and on", () => {
  test("while Redis hangs, and the retry completes the event once", async () => {
    const ingress = await hanging.startIngress();
    const worker = await hanging.startWorker();
    await untilInHandler(worker, await hanging.take(ingress, "evt_1", "test.never_ends"));
    hanging.servers.redis?.freeze();
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
    hanging.servers.redis?.thaw();
    await hanging.expectCompletedOnce();
  });

  test("while its connection to Postgres is half-open, and the retry completes the event once", async () => {
    const ingress = await hanging.startIngress();
    const worker = await hanging.startWorker();
    await untilInHandler(worker, await hanging.take(ingress, "evt_1", "test.asks_on"));
    hanging.toPostgres.strand();
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
    await hanging.expectCompletedOnce();
  });

  test("also while other events' COMMITs hang, and each event completes once", async () => {
    const ingress = await hanging.startIngress();
    const worker = await hanging.startWorker();
    await untilInHandler(worker, await hanging.take(ingress, "evt_1", "test.never_ends"));
    hanging.toPostgres.strandAfter("COMMIT");
    for (const n of [2, 3, 4]) await hanging.take(ingress, `evt_${n}`, "test.effect");
    await until(() => hanging.toPostgres.struck > 0, { what: "a COMMIT that hangs" });
    hanging.toPostgres.strandAfter(undefined);
    await hanging.expectCompletedOnce();
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
  });
});

const untilInHandler = (worker: MillraceProcess, id: string) =>
  until(() => worker.output().includes(`in the handler of ${id}\n`), {
    what: `the handler of ${id} begun`,
  });

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
