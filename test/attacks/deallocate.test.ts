import { sql } from "drizzle-orm";
import { pgTable, serial } from "drizzle-orm/pg-core";
import { on, standardWebhooks } from "millrace";
import { beforeAll, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const effectsTable = pgTable("effects_of_all", { id: serial() });

const STATEMENTS = {
  "by a statement": "deallocate all",
  "by its long form": "DEALLOCATE PREPARE ALL",
  "in a DO block": "do $$ begin execute 'deallocate all'; end $$",
  "in a function": "select forget_all()",
};

const config = {
  sources: { acme: standardWebhooks({ backoff: { firstMs: 20, factor: 1, maxMs: 20 } }) },
  handlers: [
    on("acme", "*", async ({ payload }, { tx }) => {
      const { statement, name } = payload.data;
      const select = tx.select({ id: effectsTable.id }).from(effectsTable).limit(1);
      if (name === undefined) await tx.execute(sql.raw(statement));
      else await select.prepare(name).execute();
      await tx.execute(sql`insert into effects_of_all default values`);
    }),
  ],
  // Few connections, so that the next events meet those that were left behind.
  worker: { concurrency: 2 },
};

describeOnRedis("a handler that deallocates prepared statements", () => {
  const stack = openForAll(() => startStack(onRedis, { config }));
  let sent = 0;

  const rowsOf = async (text: string) => (await stack.pipeline.database.query(text)).rows;
  beforeAll(() =>
    rowsOf(`create table effects_of_all (id serial);
      create function forget_all() returns void language plpgsql as
        $$ begin execute 'deallocate all'; end $$`),
  );

  async function send(count: number, bad: object = {}): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      sent += 1;
      const data = { statement: "select 1", ...(index % 3 === 1 ? bad : {}) };
      await post(stack.ingress.url, { id: `evt_${sent}`, type: "thing.happened", data });
    }
  }

  async function expectAllOnce(): Promise<void> {
    const done = "select count(*)::int as n from millrace.events where status = 'completed'";
    await until(async () => (await rowsOf(done))[0].n === sent, {
      ...{ withinMs: 20_000, what: `${sent} events completed` },
    });
    expect(await rowsOf("select count(*)::int as n from effects_of_all")).toEqual([{ n: sent }]);
  }

  test.each(Object.entries(STATEMENTS))("%s pays nothing, and no other does", async (_, bad) => {
    await send(10);
    await send(20, { statement: bad });
    await send(10);
    await expectAllOnce();
    expect(await rowsOf("select event_id from millrace.attempts where counted")).toEqual([]);
    // A run that was undone, with its group or alone, has a number and is not charged.
    const charged = "select event_id from millrace.events where attempts - attempts_at_retry <> 1";
    expect(await rowsOf(charged)).toEqual([]);
  });

  test("one that prepares a statement of drizzle under a name of the ledger's harms nobody", async () => {
    await send(20, { name: "millrace_complete_first" });
    await send(10);
    await expectAllOnce();
  });
});
