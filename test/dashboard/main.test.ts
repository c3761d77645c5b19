import { Agent, createServer, get } from "node:http";
import { fileURLToPath } from "node:url";
import { main } from "@millrace/dashboard";
import { expect, test } from "vitest";
import { openTestLedger } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";
import { createPipeline } from "../support/pipeline.ts";
import { migratedDatabase, scratchDatabase } from "../support/scratch-database.ts";
import { listenOnLoopback } from "../support/free-port.ts";
import { until } from "../support/until.ts";

const MILLRACE_CONFIG = fileURLToPath(new URL("./fixture/millrace.config.ts", import.meta.url));
// Nothing listens there: whoever is refused before it connects says so in time.
const NOWHERE = "postgres://127.0.0.1:1/nowhere";
const quiet = { MILLRACE_CONFIG, LOG_LEVEL: "silent", DASHBOARD_PORT: "0" };

const database = openForAll(scratchDatabase);

test.each([
  [{ HOST: "0.0.0.0" }, /Cannot open the dashboard on "0.0.0.0": DASHBOARD_USER and/],
  [{ HOST: "::" }, /Cannot open the dashboard on "::"/],
  [{ DASHBOARD_HOSTS: "dash.example.com" }, /Cannot open the dashboard as "dash.example.com"/],
  [{ HOST: "0.0.0.0", DASHBOARD_USER: "ops" }, /DASHBOARD_PASSWORD is not set/],
  [{ HOST: "0.0.0.0", DASHBOARD_USER: "ops", DASHBOARD_PASSWORD: "" }, /PASSWORD is not set/],
  [{ DATABASE_URL: "" }, /DATABASE_URL is not set/],
])("%j stops the start before anything is opened", async (env, message) => {
  const started = main({ DATABASE_URL: NOWHERE, ...quiet, ...env });
  await expect(started).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(message),
  });
});

test("a database that was not migrated stops the start with what to do", async () => {
  await expect(main({ DATABASE_URL: database.url, ...quiet })).rejects.toMatchObject({
    code: "migration_needed",
    message: expect.stringContaining("millrace migrate"),
  });
});

test("a port that is taken stops the start, and leaves no connection behind", async () => {
  const { pool, close } = await openTestLedger({ url: database.url });
  const other = createServer();
  const port = await listenOnLoopback(other);
  await expect(
    main({ DATABASE_URL: database.url, ...quiet, DASHBOARD_PORT: String(port) }),
  ).rejects.toMatchObject({ code: "port_in_use" });
  await until(async () => {
    const { rows } = await pool.query(
      "select count(*)::int as n from pg_stat_activity where application_name like 'millrace-dashboard%' and datname = current_database()",
    );
    return rows[0].n === 0;
  });
  await new Promise((resolve) => other.close(resolve));
  await close();
});

test("a SIGTERM ends its process well, with a browser's connection still open", async () => {
  const { url, drop } = await migratedDatabase();
  const pipeline = await createPipeline({ databaseUrl: url });
  const agent = new Agent({ keepAlive: true });
  try {
    const dashboard = await pipeline.start("dashboard");
    await new Promise<void>((resolve, reject) => {
      const sent = get(`${dashboard.url}/api/stats`, { agent }, (response) => {
        expect(response.statusCode).toBe(200);
        response.resume().once("end", resolve);
      });
      sent.once("error", reject);
    });
    expect(await dashboard.end("SIGTERM")).toBe(0);
  } finally {
    agent.destroy();
    await pipeline.stop();
    await drop();
  }
});
