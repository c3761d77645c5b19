import { createLedger } from "@millrace/ledger";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { openForAll } from "../support/open-for.ts";
import { withPool } from "../support/query-once.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { doctorAgrees, named, openRestorable } from "./sending.ts";

const LATER = 299;

describeOnRedis("Postgres restored to an earlier hour, Redis ahead", () => {
  const servers = openForAll(openRestorable);
  let worker: MillraceProcess;
  beforeEach(async () => {
    worker = await servers.pipeline.start("worker");
  });
  afterEach(() => worker?.end());

  const numberOf = async (text: string) =>
    (await servers.pipeline.database.query<{ n: number }>(text)).rows[0]?.n ?? -1;
  const countPasses = () => numberOf("select max(pass)::int as n from millrace.queue_epochs");
  const countRows = () => numberOf("select count(*)::int as n from millrace.events");

  test(`has ${LATER} of ${LATER} later events again, none twice, and the doctor agrees`, async () => {
    const { pipeline, postgres, send, completed } = servers;
    const before = named("before", 50);
    const later = named("later", LATER);
    await send(before);
    await completed(...before);
    await postgres.backUp();
    await send(later);
    await completed(...before, ...later);
    await postgres.restore();

    await completed(...before, ...later);
    await until(() => worker.output().includes("Postgres was failed over or restored"));
    const line = worker
      .output()
      .split("\n")
      .find((each) => each.includes("failed over or restored"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "error", source: "acme", unnamed: 0 });
    expect(await doctorAgrees(pipeline)).toMatch(
      /note +epochs +Postgres was failed over or restored: .*acme/,
    );
    const again = await send(later);
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
    await completed(...before, ...later);
  });

  test("runs an event that is delivered again before any worker has compared", async () => {
    const { pipeline, postgres, send, completed } = servers;
    const later = named("redelivered", 20);
    await postgres.backUp();
    const rows = await until(countRows);
    await send(later);
    await completed(...later);
    // A job ends after its event has.
    await withQueue(servers.urls, "acme", (queue) =>
      until(async () => {
        const states = await Promise.all(later.map((id) => queue.getJobState(id)));
        return states.every((state) => state === "completed");
      }),
    );
    await worker.end();
    await postgres.restore();
    expect(await until(countRows)).toBe(rows);

    // A ledger that answers too late leaves it to the reconciler; a sender may deliver as often as it likes.
    await until(async () => {
      const answers = await send(later);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      return (await countRows()) === rows + later.length;
    });
    worker = await pipeline.start("worker");
    await completed(...later);
    // A comparison that was cut off is begun again, by the worker of the next test.
    await until(() => /Postgres was (restarted|failed over)[^]*"reconciled"/.test(worker.output()));
  });

  test("compares quietly what was only restarted", async () => {
    const { postgres, send, completed } = servers;
    const events = named("restarted", 10);
    await send(events);
    await completed(...events);
    const passes = await countPasses();
    await until(async () => (await countPasses()) > passes);
    await postgres.restart();
    await until(() => worker.output().includes("Postgres was restarted"));
    await send(named("restarted_later", 1));
    await completed(...events);
    expect(worker.output()).not.toContain("failed over or restored");
  });

  test("is found by every login, and by one that may not ask for the identifier too", async () => {
    const { database } = servers.pipeline;
    // As roles.sql makes a worker's.
    await database.query("create role plain login password 'plain' nosuperuser");
    const url = new URL(servers.postgres.url);
    [url.username, url.password] = ["plain", "plain"];
    const asPlain = () =>
      withPool(url.href, async (pool) => {
        const { repair } = createLedger({ pool });
        expect(await repair.serverEpoch()).toEqual(await repair.serverEpoch());
        return await repair.serverEpoch();
      });
    const whole = await asPlain();
    expect(whole).toMatchObject({
      systemId: expect.stringMatching(/^\d{10,}$/),
      timeline: "00000001",
    });
    await database.query("revoke execute on function pg_control_system() from public");
    const { startedAtMs } = whole;
    expect(await asPlain()).toEqual({ systemId: "", timeline: "", position: 0, startedAtMs });
  });
});
