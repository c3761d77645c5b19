import { createLedger } from "@millrace/ledger";
import { diagnose } from "@millrace/operations";
import { afterEach, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { testPool } from "../support/ledger-fixture.ts";
import { openForEach } from "../support/open-for.ts";
import { event, openTestQueues } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { allowOnly } from "../support/redis-client.ts";
import { openTestStores, key, type TestStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";
import { startReconciler, type TestReconciler } from "./reconcile-once.ts";

const patient = (eventId: string) => ({ ...key(eventId), source: "patient" });

describeOnRedis("a reconciler that Redis refuses one of its queues", () => {
  const stores = openForEach(async () => openTestStores(await onRedis()));
  let reconciler: TestReconciler | undefined;
  afterEach(() => reconciler?.close());

  const allow = (...keys: string[]) => allowOnly(stores.servers.redisUrl, ...keys);

  async function start(redisUrl: string): Promise<TestReconciler> {
    const servers = { ...stores.servers, redisUrl };
    const queues = await openTestQueues(servers, "worker", ["acme", "patient"]);
    const started = startReconciler({ ...stores, queues }, { sources: ["acme", "patient"] });
    return {
      notices: started.notices,
      close: async () => {
        await started.close();
        await queues.close();
      },
    };
  }

  const failures = () =>
    reconciler?.notices.flatMap((notice) =>
      notice.kind === "pass_failed" ? [notice.source ?? "every queue"] : [],
    ) ?? [];

  test("repairs the others, says which one fails, and repairs that one when it answers", async () => {
    const url = await allow("~bull:millrace-acme:*");
    await stores.ledger.intake.accept([
      event("evt_orphan_1"),
      event("evt_orphan_2", { source: "patient" }),
    ]);
    reconciler = await start(url);
    await until(async () => (await stores.job("evt_orphan_1"))?.state === "waiting");
    await until(() => failures().length >= 2);
    expect(new Set(failures())).toEqual(new Set(["patient"]));
    await stores.ledger.intake.accept([event("evt_orphan_3")]);
    await until(async () => (await stores.job("evt_orphan_3"))?.state === "waiting");
    expect(await stores.queues.findJob(patient("evt_orphan_2"))).toBeUndefined();

    await allow("~bull:millrace-acme:*", "~bull:millrace-patient:*");
    const isThere = async () => await stores.queues.findJob(patient("evt_orphan_2"));
    await until(async () => (await isThere())?.state === "waiting");
    const before = failures().length;
    await stores.ledger.intake.accept([event("evt_orphan_4", { source: "patient" })]);
    await until(async () => (await stores.queues.findJob(patient("evt_orphan_4"))) !== undefined);
    expect(failures().length).toBe(before);
  });

  test("a comparison blames no queue for a Postgres that goes away meanwhile", async () => {
    const pool = testPool(stores.url);
    let asked = 0;
    const finishedJobs: TestStores["queues"]["finishedJobs"] = async (source, ...rest) => {
      if (source === "acme") return await stores.queues.finishedJobs(source, ...rest);
      asked += 1;
      if (asked === 2) await pool.end();
      throw new Error("the queue is refused");
    };
    const comparison = diagnose(
      {
        ledger: createLedger({ pool }),
        queues: { ...stores.queues, finishedJobs },
        isSound: () => true,
      },
      { sources: ["acme", "patient"], graceMs: 0, keysDays: 90, examplesMax: 1 },
    );
    await expect(comparison).rejects.toThrow("pool");
  });

  test("fails as a whole when Redis refuses every queue", async () => {
    reconciler = await start(await allow());
    await until(() => failures().length >= 2);
    expect(new Set(failures())).toEqual(new Set(["every queue"]));
  });
});
