import { afterEach, expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";
import {
  createPipeline,
  post,
  postOnce,
  untilCompletedOnce,
  type Pipeline,
} from "../support/pipeline.ts";
import { queryOnce } from "../support/query-once.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { withRedis } from "../support/redis-client.ts";
import { millrace } from "../support/run-in-process.ts";
import { migratedDatabase, scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";

describeOnRedis("a queue on Redis is one ledger's", () => {
  const redis = openForAll(() => startRedis());
  const ends: (() => Promise<unknown>)[] = [];
  const cli = (name: string, ...args: string[]) =>
    withRedis(redis.url, (client) => client.call(name, ...args));
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
    await cli("FLUSHALL");
  });

  const environment = async (create = scratchDatabase, over = {}) => {
    const database = await create();
    ends.push(() => database.drop());
    const urls = { databaseUrl: database.url, redisUrl: redis.url };
    const pipeline = await createPipeline(urls, over);
    ends.push(() => pipeline.stop());
    const send = async (url: string, prefix: string, count = 10) => {
      const ids = Array.from({ length: count }, (_, at) => `msg_${prefix}_${at}`);
      for (const id of ids) await post(url, { id, type: "test.effect" });
      return ids;
    };
    return { ...pipeline, url: database.url, send };
  };
  // As after the 30 s for which a mark holds.
  const endLeases = async () => {
    for (const key of (await cli("KEYS", "*:meta")) as string[]) {
      await cli("HDEL", key, "millrace:owner");
    }
  };
  const IN_USE = { code: "queue_in_use" };

  test.each([
    ["another ledger", scratchDatabase],
    ["a copy of the ledger", migratedDatabase],
  ])(
    "%s cannot use it while workers of the first run, and QUEUE_PREFIX separates",
    async (_, create) => {
      const [a, b] = await Promise.all([environment(create), environment(create)]);
      const [ingress] = await Promise.all([
        a.startInProcess("ingress"),
        a.startInProcess("worker"),
      ]);
      const ids = await a.send(ingress.url, "a");
      await expect(b.startInProcess("worker")).rejects.toMatchObject(IN_USE);
      await expect(b.startInProcess("dashboard")).rejects.toMatchObject(IN_USE);
      await expect(b.startInProcess("ingress")).rejects.toMatchObject(IN_USE);
      for (const verb of ["retry", "replay", "give-up"]) {
        const { stderr } = await millrace([verb, "acme", "msg_1"], { env: b.env });
        expect(stderr).toContain("(queue_in_use)");
      }

      const prefix = { QUEUE_PREFIX: "other-1" };
      const other = await b.startInProcess("ingress", prefix);
      await b.startInProcess("worker", prefix);
      const others = await b.send(other.url, "b");
      expect(await untilCompletedOnce(a.database, ids)).toEqual([]);
      expect(await untilCompletedOnce(b.database, others)).toEqual([]);
      const { rows } = await b.database.query(
        "select from millrace.events where event_id = any($1)",
        [ids],
      );
      expect(rows).toEqual([]);
    },
  );

  const seen = async ({ database }: Pick<Pipeline, "database">) => {
    const { rows } = await database.query<{ seen: string }>(
      "select event_id || ' ' || status as seen from millrace.events order by 1",
    );
    return rows.map((row) => row.seen);
  };

  test.each([
    ["another ledger", scratchDatabase],
    ["a copy of the ledger", migratedDatabase],
  ])("%s adds nothing to it while the workers of the first are away", async (_, create) => {
    const [a, b] = await Promise.all([environment(create), environment(create)]);
    await (await a.startInProcess("worker")).close();
    const [ours, theirs] = [await a.startInProcess("ingress"), await b.startInProcess("ingress")];
    await b.send(theirs.url, "same", 2);
    const [id] = await a.send(ours.url, "same", 1);
    await a.startInProcess("worker");
    expect(await untilCompletedOnce(a.database, [id ?? ""])).toEqual([]);
    expect(await seen(a)).toEqual([`${id} completed`]);
    expect(await seen(b)).toEqual([`${id} pending`, "msg_same_1 pending"]);
  });

  test("an event is not a duplicate of another ledger's where no worker has run yet", async () => {
    const [a, b] = await Promise.all([environment(), environment()]);
    const [ours, theirs] = [await a.startInProcess("ingress"), await b.startInProcess("ingress")];
    await b.send(theirs.url, "same", 1);
    const [id] = await a.send(ours.url, "same", 1);
    expect(await seen(a)).toEqual([`${id} pending`]);
  });

  test.each([true, false])(
    "commands of another ledger remove no job (worker ran: %s)",
    async (hasRun) => {
      const [a, b] = await Promise.all([environment(), environment()]);
      if (hasRun) await (await a.startInProcess("worker")).close();
      const alone = await b.startInProcess("ingress", { REDIS_URL: "" });
      const [id = ""] = await b.send(alone.url, "same", 1);
      await a.send((await a.startInProcess("ingress")).url, "same", 1);
      for (const verb of ["give-up", "retry", "replay"]) {
        await millrace([verb, "acme", id, "--reason", "a test"], { env: b.env });
      }
      await a.startInProcess("worker");
      expect(await untilCompletedOnce(a.database, [id])).toEqual([]);
    },
  );

  test("a worker that was frozen beyond its lease stops, and nothing runs twice", async () => {
    const [a, b] = await Promise.all([environment(), environment()]);
    const [ingress, frozen] = [await a.startInProcess("ingress"), await a.start("worker")];
    const ids = await a.send(ingress.url, "before", 1);
    expect(await untilCompletedOnce(a.database, ids)).toEqual([]);
    frozen.signal("SIGSTOP");
    ids.push(...(await a.send(ingress.url, "frozen", 2)));
    const taker = await b.startInProcess("worker");
    ids.push(...(await a.send(ingress.url, "taken", 2)));
    frozen.signal("SIGCONT");
    expect(await frozen.exited()).not.toBe(0);
    await taker.close();
    await a.startInProcess("worker");
    expect(await untilCompletedOnce(a.database, ids)).toEqual([]);
    expect(await seen(b)).toEqual([]);
  });

  test("jobs that another ledger's ingress left wait for its workers", async () => {
    const [a, b] = await Promise.all([environment(), environment()]);
    const [ingress, worker] = await Promise.all([
      a.startInProcess("ingress"),
      a.startInProcess("worker"),
    ]);
    await worker.close();
    const ids = await a.send(ingress.url, "left", 3);
    await ingress.close();
    await endLeases();
    const foreign = await b.startInProcess("worker");
    const delayed = () => cli("ZCARD", "bull:millrace-acme:delayed");
    await until(async () => Number(await delayed()) === ids.length);
    expect((await b.database.query("select from millrace.events")).rows).toEqual([]);
    await foreign.close();
    await endLeases();
    await a.startInProcess("worker");
    expect(await untilCompletedOnce(a.database, ids)).toEqual([]);
  });

  test("a mark that was lost is written again, and the ledger that came in between stops", async () => {
    const [a, b] = await Promise.all([environment(), environment()]);
    const [ingress] = await Promise.all([a.startInProcess("ingress"), a.startInProcess("worker")]);
    const mark = () => cli("HGET", "bull:millrace-acme:meta", "millrace:owner");
    const ledger = String(await mark()).split(" ")[0];
    await cli("FLUSHALL");
    const between = await b.startInProcess("worker").catch(() => undefined);
    await until(async () => String(await mark()).startsWith(`${ledger} `));
    const ids = await a.send(ingress.url, "after");
    expect(await untilCompletedOnce(a.database, ids)).toEqual([]);
    if (between !== undefined)
      await until(() =>
        fetch(between.url).then(
          () => false,
          () => true,
        ),
      );
    expect((await b.database.query("select from millrace.events")).rows).toEqual([]);
  });

  test("an ingress without a database takes the ledger from the mark, and nothing without one", async () => {
    const a = await environment();
    const alone = await a.startInProcess("ingress", { DATABASE_URL: "" });
    expect(await postOnce(alone.url, { id: "msg_early", type: "test.effect" })).toMatchObject({
      status: 503,
    });
    await a.startInProcess("worker");
    const ids = await a.send(alone.url, "alone");
    expect(await untilCompletedOnce(a.database, ids)).toEqual([]);
  });

  test("a database that was copied needs `adopt`, one that was moved `restored`", async () => {
    const a = await environment();
    const [ingress, worker] = await Promise.all([
      a.startInProcess("ingress"),
      a.startInProcess("worker"),
    ]);
    await a.send(ingress.url, "before", 1);
    await Promise.all([worker.close(), ingress.close()]);
    // As in a dump that was restored elsewhere.
    const move = () => queryOnce(a.url, "UPDATE millrace.identity SET database_oid = 1");
    await move();
    const MOVED = { code: "ledger_moved", message: expect.stringContaining("`millrace restored`") };
    await expect(a.startInProcess("worker")).rejects.toMatchObject(MOVED);
    const run = (...args: string[]) => millrace(args, { env: a.env });
    expect(await run("restored")).toMatchObject({ code: 0, stdout: /^restored: workers/ });
    expect(await run("restored")).toMatchObject({ code: 1, stderr: /Nothing to do/ });
    await (await a.startInProcess("worker")).close();

    await move();
    await queryOnce(
      a.url,
      `INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned, received_at, body_id)
       VALUES ('acme', 'held', 0, 't', '', false, now(), 1)`,
    );
    expect(await run("adopt")).toMatchObject({ code: 1, stderr: /queue_in_use/ });
    const copy = { QUEUE_PREFIX: "staging" };
    const adopt = await millrace(["adopt"], { env: { ...a.env, ...copy } });
    expect(adopt).toMatchObject({ code: 0, stdout: /1 pending events are failed \(given_up\)/ });
    await a.startInProcess("worker", copy);
  });

  test("a Redis that is full lets a worker start, which empties it", async () => {
    const a = await environment();
    await cli("CONFIG", "SET", "maxmemory", "1mb");
    await a.startInProcess("worker");
    await cli("CONFIG", "SET", "maxmemory", "0");
  });

  test("jobs that were signed once are not run without a key", async () => {
    const a = await environment();
    const key = { MILLRACE_QUEUE_KEY: "a".repeat(64) };
    const keyless = await a.startInProcess("worker");
    await (await a.startInProcess("worker", key)).close();
    await until(() =>
      fetch(keyless.url).then(
        () => false,
        () => true,
      ),
    );
    const REFUSED = {
      code: "queue_key_missing",
      message: expect.stringContaining("sign them since"),
    };
    await expect(a.startInProcess("worker")).rejects.toMatchObject(REFUSED);
  });
});
