import { on, standardWebhooks, type HandlerContext, type WebhookEvent } from "millrace";
import { sql } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { onEachBackend, type TestServers } from "../support/backends.ts";
import type { RoleInProcess } from "../support/in-process.ts";
import { metricByLabels } from "../support/metrics.ts";
import { createPipeline, post, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";
import { LEFT_BEHIND } from "./left-behind.ts";

// M4: what one event leaves on its connection went from event to event.

const effects = pgTable("effects", { event_id: text(), source: text(), attempt: integer() });

interface Data {
  readonly run?: readonly string[];
  readonly fails?: boolean;
}

/** Runs the statements that the event brings. */
async function runItsSql({ payload }: WebhookEvent, { tx }: HandlerContext): Promise<void> {
  const { run = [], fails } = payload.data as Data;
  for (const statement of run) await tx.execute(sql.raw(statement));
  if (fails === true) throw new Error("as the event says");
}

const CONFIG = {
  sources: { acme: standardWebhooks({ attempts: 1 }) },
  handlers: [
    on("acme", "test.sql", runItsSql),
    on("acme", "test.effect", async ({ id, source, attempt }, { tx }) => {
      await tx.insert(effects).values({ event_id: id, source, attempt });
    }),
  ],
  // One event after the other, on one connection.
  worker: { concurrency: 1 },
};

onEachBackend("an event that leaves something on its connection", (prepare) => {
  let servers: TestServers;
  let pipeline: Pipeline;
  let ingress: RoleInProcess;
  let sent = 0;

  beforeAll(async () => {
    servers = await prepare();
    pipeline = await createPipeline(servers, {}, CONFIG);
    await pipeline.database.query("create table effects (event_id text, source text, attempt int)");
    await pipeline.database.query("create table seen (id text, pid int, found bool)");
    ingress = await pipeline.startInProcess("ingress");
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.release();
  });

  async function send(type: string, data: Data = {}): Promise<string> {
    const id = `evt_${(sent += 1)}_1`;
    // 200 where the first answer was 503, and the event had come all the same.
    expect([202, 200]).toContain((await post(ingress.url, { id, type, data })).status);
    return id;
  }

  async function settle(type: string, data: Data = {}): Promise<{ id: string; status: string }> {
    const id = await send(type, data);
    const status = await until(async () => {
      const event = await eventOf(pipeline.database, id);
      return event !== undefined && event.status !== "pending" && event.status;
    });
    return { id, status };
  }

  /** Runs an event that says on which connection it runs, and whether the condition is true there. */
  async function look(isThere = "false"): Promise<{ pid: number; found: boolean }> {
    const name = `look_${sent}`;
    const run = [`insert into seen select '${name}', pg_backend_pid(), ${isThere}`];
    expect(await settle("test.sql", { run })).toMatchObject({ status: "completed" });
    const { rows } = await pipeline.database.query("select * from seen where id = $1", [name]);
    return rows[0];
  }

  describe.each([
    ["first attempts", "on"],
    ["recorded attempts", "off"],
  ])("%s", (_, groups) => {
    let worker: RoleInProcess;
    beforeAll(async () => {
      worker = await pipeline.startInProcess("worker", { MILLRACE_GROUPS: groups });
    });
    afterAll(() => worker?.close());

    for (const [what, [leave, isThere]] of Object.entries(LEFT_BEHIND)) {
      for (const fails of [false, true]) {
        test(`${what} of an event that ${fails ? "fails" : "completes"} does not reach the next one`, async () => {
          // Another connection may be the next one, when a leader has taken this one.
          const next = await until(async () => {
            const { pid } = await look();
            const left = await settle("test.sql", { run: [leave], fails });
            expect(left.status).toBe(fails ? "failed" : "completed");
            const looked = await look(isThere);
            return looked.pid === pid && looked;
          });
          expect(next.found).toBe(false);
        });
      }
    }

    test("a temporary table that is named like the handlers' own takes none of the events behind it", async () => {
      await pipeline.database.query("truncate effects");
      const run = ["create temp table effects (event_id text, source text, attempt int)"];
      expect((await settle("test.sql", { run })).status).toBe("completed");
      const ids: string[] = [];
      for (let n = 0; n < 12; n += 1) ids.push(await send("test.effect"));
      expect(await untilCompletedOnce(pipeline.database, ids)).toEqual([]);
    });

    test("a COPY from a client that sends nothing ends its own event, at once and by name", async () => {
      await pipeline.database.query("truncate effects");
      for (const copy of [
        "copy effects from stdin",
        "COPY effects FROM /* x */ STDOUT",
        "copy effects to stdout",
      ]) {
        const { id, status } = await settle("test.sql", { run: [copy] });
        expect(status).toBe("failed");
        const { rows } = await pipeline.database.query(
          "select last_error_code as code from millrace.events where event_id = $1",
          [id],
        );
        expect(rows).toEqual([{ code: "tx_control_refused" }]);
      }
      expect((await settle("test.effect")).status).toBe("completed");
    });

    test("a statement that changes the session costs a connection, and is counted", async () => {
      const count = async (reason: string) => {
        const counts = await metricByLabels(worker.url, "millrace_worker_connections_reset_total");
        return counts.get(`source="acme",reason="${reason}"`);
      };
      const before = await count("session");
      await settle("test.sql", { run: ["set work_mem = '8MB'"] });
      await until(async () => (await count("session")) === (before ?? 0) + 1);
      expect(await count("uncleaned")).toBe(0);
    });
  });

  test("many at once, among others that share transactions, harm none of them", async () => {
    await pipeline.database.query("truncate effects");
    const poisons = [
      ...Object.values(LEFT_BEHIND).map(([leave]) => leave),
      "create temp table effects (event_id text, source text, attempt int)",
    ];
    const sending = Array.from({ length: 240 }, (_, n) => {
      const poison = poisons[(n / 20) % poisons.length];
      return n % 20 === 0 && poison !== undefined
        ? send("test.sql", { run: [poison] }).then(() => [])
        : send("test.effect").then((id) => [id]);
    });
    const ids = (await Promise.all(sending)).flat();
    const workers = await Promise.all([
      pipeline.startInProcess("worker"),
      pipeline.startInProcess("worker"),
    ]);
    expect(await untilCompletedOnce(pipeline.database, ids)).toEqual([]);
    await Promise.all(workers.map((worker) => worker.close()));
  });
});
