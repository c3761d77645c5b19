import { on } from "millrace";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { metricByLabels } from "../support/metrics.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack, untilCompletedOnce } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import { LEFT_BEHIND } from "./left-behind.ts";
import { send, settle, SQL_CONFIG } from "./sql-handler.ts";

const effects = pgTable("effects", { event_id: text(), source: text(), attempt: integer() });
const OWN_EFFECTS = "create temp table effects (event_id text, source text, attempt int)";

const config = {
  ...SQL_CONFIG,
  handlers: [
    ...SQL_CONFIG.handlers,
    on("acme", "test.effect", async ({ id, source, attempt }, { tx }) => {
      await tx.insert(effects).values({ event_id: id, source, attempt });
    }),
  ],
  worker: { concurrency: 1 },
};

onEachBackend("an event that leaves something on its connection", (prepare) => {
  const stack = openForAll(() => startStack(prepare, { config, worker: false }));
  let looks = 0;

  const query = async (statement: string) => (await stack.pipeline.database.query(statement)).rows;
  const expectOnce = async (ids: readonly string[]) =>
    expect(await untilCompletedOnce(stack.pipeline.database, ids)).toEqual([]);
  beforeAll(() => query("create table seen (id text, pid int, found bool)"));
  beforeAll(() => query("create table effects (event_id text, source text, attempt int)"));
  beforeEach(() => query("truncate effects"));

  async function look(isThere = "false"): Promise<{ pid: number; found: boolean }> {
    const name = `look_${(looks += 1)}`;
    const run = [`insert into seen select '${name}', pg_backend_pid(), ${isThere}`];
    expect(await settle(stack, "test.sql", { run })).toMatchObject({ status: "completed" });
    return (await query(`select * from seen where id = '${name}'`))[0];
  }

  describe.each([
    ["first attempts", "on"],
    ["recorded attempts", "off"],
  ])("%s", (_, groups) => {
    const worker = openForAll(() =>
      stack.pipeline.startInProcess("worker", { MILLRACE_GROUPS: groups }),
    );

    for (const [what, [leave, isThere]] of Object.entries(LEFT_BEHIND)) {
      test.each([
        ["completes", "completed", false],
        ["fails", "failed", true],
      ])(`${what} of an event that %s does not reach the next one`, async (_end, status, fails) => {
        // Another connection may be the next one, when a leader has taken this one.
        const next = await until(async () => {
          const { pid } = await look();
          expect((await settle(stack, "test.sql", { run: [leave], fails })).status).toBe(status);
          const looked = await look(isThere);
          return looked.pid === pid && looked;
        });
        expect(next.found).toBe(false);
      });
    }

    test("a temporary table that is named like the handlers' own takes none of the events behind it", async () => {
      expect((await settle(stack, "test.sql", { run: [OWN_EFFECTS] })).status).toBe("completed");
      const ids: string[] = [];
      for (let n = 0; n < 12; n += 1) ids.push(await send(stack, "test.effect"));
      await expectOnce(ids);
    });

    test("a COPY from a client that sends nothing ends its own event, at once and by name", async () => {
      for (const copy of [
        "copy effects from stdin",
        "COPY effects FROM /* x */ STDOUT",
        "copy effects to stdout",
      ]) {
        const { id, status } = await settle(stack, "test.sql", { run: [copy] });
        expect(status).toBe("failed");
        const code = `select last_error_code as code from millrace.events where event_id = '${id}'`;
        expect(await query(code)).toEqual([{ code: "tx_control_refused" }]);
      }
      expect((await settle(stack, "test.effect")).status).toBe("completed");
    });

    test("a statement that changes the session costs a connection, and is counted", async () => {
      const count = async (reason: string) => {
        const counts = await metricByLabels(worker.url, "millrace_worker_connections_reset_total");
        return counts.get(`source="acme",reason="${reason}"`);
      };
      const before = await count("session");
      await settle(stack, "test.sql", { run: ["set work_mem = '8MB'"] });
      await until(async () => (await count("session")) === (before ?? 0) + 1);
      expect(await count("uncleaned")).toBe(0);
    });
  });

  test("many at once, among others that share transactions, harm none of them", async () => {
    const poisons = [...Object.values(LEFT_BEHIND).map(([leave]) => leave), OWN_EFFECTS];
    const sending = Array.from({ length: 240 }, (_, n) => {
      const poison = poisons[(n / 20) % poisons.length];
      return n % 20 === 0 && poison !== undefined
        ? send(stack, "test.sql", { run: [poison] }).then(() => [])
        : send(stack, "test.effect").then((id) => [id]);
    });
    const ids = (await Promise.all(sending)).flat();
    await Promise.all([1, 2].map(() => stack.pipeline.startInProcess("worker")));
    await expectOnce(ids);
  });
});
