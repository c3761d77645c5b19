import { join } from "node:path";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "@millrace/embedded-postgres";
import { openPool } from "@millrace/ledger";
import { connectionsWanted, createPostgresQueues, type QueueNotice } from "@millrace/queue";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { copyDataFolder } from "../support/data-folder.ts";
import { COMPLETED, event, quickWorker, workOn } from "../support/queue-fixture.ts";
import { openForEach } from "../support/open-for.ts";
import { freePort } from "../support/free-port.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";

describe("the queues while Postgres is away", () => {
  let folder: string;
  let postgres: EmbeddedPostgres;

  beforeEach(async () => {
    folder = newFolder();
    await copyDataFolder(join(folder, "postgres"));
    postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres") });
  });

  afterEach(() => postgres.stop("immediate"));

  it("answers with errors, stays quiet, and works on when Postgres is back", async () => {
    const notices: QueueNotice[] = [];
    const queues = await createPostgresQueues({
      openPool: (settings) => openPool(postgres.url, settings),
      sources: Array.from({ length: 10 }, (_, index) => `source-${index}`),
      role: "worker",
      notify: (notice) => notices.push(notice),
    });
    const options = { worker: quickWorker(), concurrency: () => 2 };
    const { runs } = workOn(queues, () => COMPLETED, options);
    const ran = (id: string) => runs.some((job) => job.event.eventId === id);
    const add = async (id: string) =>
      (await queues.enqueue([event(id, { source: "source-3" })]))[0];
    expect(await add("evt_1")).toBe("accepted");
    await until(() => ran("evt_1"));

    await postgres.stop("immediate");
    const since = Date.now();
    expect(await add("evt_2")).toBeInstanceOf(Error);
    // Nothing but a deadline ends the wait for a server that does not come back.
    expect(Date.now() - since).toBeLessThan(10_000);
    await expect(queues.ping()).rejects.toMatchObject({ code: "database_unreachable" });
    await until(() => Date.now() > since + 2_000);
    const { length } = notices;
    const seconds = (Date.now() - since) / 1_000;
    expect(length).toBeGreaterThan(0);
    // Ten workers ask ten times a second each; left alone, each asks thousands of times.
    expect(length / seconds).toBeLessThan(200);

    postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres") });
    await until(async () => typeof (await add("evt_2")) === "string");
    const back = Date.now();
    await until(() => ran("evt_2"));
    // A worker that still listened on the dead connection would look again after ten seconds.
    expect(Date.now() - back).toBeLessThan(8_000);
    // And not by looking now and then: the one LISTEN connection is there again.
    await until(async () => (await queues.counts()).get("source-3")?.active === 0);
    const added = Date.now();
    await add("evt_3");
    await until(() => ran("evt_3"));
    expect(Date.now() - added).toBeLessThan(8_000);
    await queues.close();
  });
});

describe("createPostgresQueues", () => {
  const database = openForEach(async () => {
    const { url, drop } = await scratchDatabase();
    return { url, close: drop };
  });
  const open = (url = database.url, over = {}) =>
    createPostgresQueues({
      openPool: (settings) => openPool(url, settings),
      ...{ sources: ["acme"], role: "ingress", notify: () => {}, ...over },
    });

  it("names a Postgres unreachable that is not there", async () => {
    const url = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`;
    const refusal = await open(url).catch((error) => error);
    expect(refusal).toMatchObject({ code: "database_unreachable" });
    expect(String(refusal)).not.toContain("secret");
  });

  it("makes the tables once, also when many processes start at the same time", async () => {
    const opened = await Promise.all([1, 2, 3, 4].map(() => open()));
    for (const [index, queues] of opened.entries()) {
      expect(await queues.enqueue([event(`evt_${index}`)])).toEqual(["accepted"]);
    }
    await Promise.all(opened.map((queues) => queues.close()));
  });

  it("starts with a role that may not create anything, where the tables are", async () => {
    await (await open()).close();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const role = `meek_${Date.now()}`;
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'meek'`);
    await client.query(`GRANT USAGE ON SCHEMA bullmq TO ${role}`);
    await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA bullmq TO ${role}`);
    const url = new URL(database.url);
    url.username = role;
    url.password = "meek";
    const second = await open(url.href);
    expect((await second.counts()).get("acme")).toMatchObject({ waiting: 0 });
    await second.close();
    await client.query(`DROP OWNED BY ${role}`);
    await client.query(`DROP ROLE ${role}`);
    await client.end();
  });

  it("takes no more connections than it says, however much is asked at once", async () => {
    const queues = await open(database.url, { enqueueTimeoutMs: 10_000 });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const calls = Array.from({ length: 40 }, (_, index) =>
      queues.enqueue([event(`evt_${index}`)], { identityOnly: true }),
    );
    expect((await Promise.all(calls)).flat()).toEqual(calls.map(() => "accepted"));
    const { rows } = await client.query<{ count: number }>(
      "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'millrace-ingress-queue/%'",
    );
    expect(rows[0]?.count).toBeGreaterThan(0);
    expect(rows[0]?.count).toBeLessThanOrEqual(connectionsWanted("ingress"));
    await client.end();
    await queues.close();
  });
});
