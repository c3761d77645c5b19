import { sql } from "drizzle-orm";
import { pgTable, serial } from "drizzle-orm/pg-core";
import { on, standardWebhooks } from "millrace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis, type TestServers } from "../support/backends.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const effectsTable = pgTable("effects_of_all", { id: serial() });

// A handler deallocates what is prepared on its connection, and with it the ledger's own statements.

const STATEMENTS = {
  "by a statement": "deallocate all",
  "by its long form": "DEALLOCATE PREPARE ALL",
  "in a DO block": "do $$ begin execute 'deallocate all'; end $$",
  "in a function": "select forget_all()",
};

describeOnRedis("a handler that deallocates prepared statements", () => {
  let servers: TestServers;
  let pipeline: Pipeline;
  let ingress: RoleInProcess;
  let sent = 0;

  beforeAll(async () => {
    servers = await onRedis();
    const config = {
      sources: { acme: standardWebhooks({ backoff: { firstMs: 20, factor: 1, maxMs: 20 } }) },
      handlers: [
        on("acme", "*", async ({ payload }, { tx }) => {
          const { statement, name } = payload.data;
          if (name === undefined) await tx.execute(sql.raw(statement));
          else
            await tx
              .select({ id: effectsTable.id })
              .from(effectsTable)
              .limit(1)
              .prepare(name)
              .execute();
          await tx.execute(sql`insert into effects_of_all default values`);
        }),
      ],
      // Few connections, so that the next events meet those that were left behind.
      worker: { concurrency: 2 },
    };
    pipeline = await createPipeline(servers, {}, config);
    await pipeline.database.query(`
      create table effects_of_all (id serial);
      create function forget_all() returns void language plpgsql as
        $$ begin execute 'deallocate all'; end $$`);
    ingress = await pipeline.startInProcess("ingress");
    await pipeline.startInProcess("worker");
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.release();
  });

  async function send(
    count: number,
    statement: (index: number) => string,
    name: (index: number) => string | undefined = () => undefined,
  ): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      sent += 1;
      const data = { statement: statement(index), name: name(index) };
      await post(ingress.url, { id: `evt_${sent}`, type: "thing.happened", data });
    }
  }

  const of = async (text: string) => (await pipeline.database.query(text)).rows;

  async function expectAllOnce(): Promise<void> {
    await until(
      async () => {
        const [row] = await of(
          "select count(*)::int as done from millrace.events where status = 'completed'",
        );
        return row.done === sent;
      },
      { withinMs: 20_000, what: `${sent} events completed` },
    );
    const [effects] = await of("select count(*)::int as count from effects_of_all");
    expect(effects.count).toBe(sent);
  }

  async function expectAllCompleted(): Promise<void> {
    await expectAllOnce();
    expect(await of("select event_id, message from millrace.attempts where counted")).toEqual([]);
    // A run that was undone, with its group or alone, has a number and is not charged.
    const attemptedMore =
      "select event_id from millrace.events where attempts - attempts_at_retry <> 1";
    expect(await of(attemptedMore)).toEqual([]);
  }

  test.each(Object.entries(STATEMENTS))(
    "%s pays nothing, and neither do others",
    async (_, bad) => {
      await send(10, () => "select 1");
      await expectAllCompleted();
      await send(20, (index) => (index % 3 === 1 ? bad : "select 1"));
      await send(10, () => "select 1");
      await expectAllCompleted();
    },
  );

  test("one that prepares a statement of drizzle under a name of the ledger's harms nobody", async () => {
    const name = (index: number) => (index % 3 === 1 ? "millrace_complete_first" : undefined);
    await send(20, () => "select 1", name);
    await send(10, () => "select 1");
    await expectAllOnce();
  });
});
