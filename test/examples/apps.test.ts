import { createHmac } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../intake/raw-connection.ts";
import { freePort } from "../support/free-port.ts";
import { outputOf, runCommand, spawnProgram, startRole } from "../support/millrace-process.ts";
import { queryOnce } from "../support/query-once.ts";
import { until } from "../support/until.ts";
import { EXAMPLES, migratedDatabase, SECRET } from "./migrated-database.ts";

// Node 20 runs no TypeScript by itself.
const JITI = fileURLToPath(new URL("../../node_modules/jiti/lib/jiti-cli.mjs", import.meta.url));
const TYPE = "payment_intent.succeeded";

describe.each(["express", "fastify", "hono"])("the example for %s", (name) => {
  let database: Awaited<ReturnType<typeof migratedDatabase>>;
  let app: Awaited<ReturnType<typeof startExample>>;

  beforeAll(async () => {
    database = await migratedDatabase(name);
    app = await startExample(name, database.env);
  });
  afterAll(async () => {
    await app?.end("SIGKILL");
    await database?.drop();
  });

  test("takes a signed delivery in, byte for byte, and a worker completes it", async () => {
    // As no parser would write it again.
    const body = `{ "id":"evt_1",\n "type": "${TYPE}", "n":1.0, "é":"\\u0000" }`;
    // A store that is slow at first answers 503, and the sender comes again.
    const first = await until(async () => {
      const answer = await app.deliver("stripe", body);
      return answer.status !== 503 && answer;
    });
    expect(first).toMatchObject({ status: 202, text: ACCEPTED });
    expect(await app.deliver("stripe", body)).toMatchObject({ status: 200, text: DUPLICATE });
    const kept = await queryOnce(database.url, "select body from millrace.bodies");
    expect(kept.map((row) => String(row["body"]))).toEqual([body]);

    const worker = await startRole("worker", {
      ...database.env,
      HOST: "127.0.0.1",
      WORKER_PORT: "0",
    });
    try {
      await until(async () => {
        const rows = await queryOnce(database.url, "select status, outcome from webhook_events");
        return rows[0]?.["status"] === "completed" && rows[0]?.["outcome"] === "handled";
      });
      const replayed = await runCommand(["replay", "stripe", "evt_1", "--wait"], database.env);
      expect(replayed).toMatchObject({ code: 0, output: expect.stringContaining("generation 1") });
    } finally {
      await worker.end("SIGTERM");
    }
  });

  test("refuses what is not signed, not known, too large or compressed", async () => {
    const before = await countEvents(database.url);
    const body = `{"id":"evt_no","type":"${TYPE}"}`;
    const forged = await app.deliver("stripe", body, { "stripe-signature": signatureOf("{}") });
    expect([forged.status, codeOf(forged)]).toEqual([401, "invalid_signature"]);
    const unknown = await app.deliver("nobody", body);
    expect([unknown.status, codeOf(unknown)]).toEqual([401, "invalid_signature"]);
    const large = await connect(Number(new URL(app.url).port));
    large.write("POST /webhooks/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 26214401\r\n\r\n");
    expect(await large.statuses(1)).toEqual([413]);
    large.abort();
    const zipped = await app.deliver("stripe", gzipSync(body), { "content-encoding": "gzip" });
    expect(zipped.status).toBeGreaterThanOrEqual(400);
    expect(await countEvents(database.url)).toBe(before);
  });

  test("leaves the app's other routes their parser", async () => {
    const response = await fetch(`${app.url}/echo`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{ "a": 1 }',
    });
    expect([response.status, await response.json()]).toEqual([200, { a: 1 }]);
  });

  test("ends by itself when it is told to, with its connections", async () => {
    expect(await app.end("SIGTERM")).toBe(0);
    const open = await queryOnce(
      database.url,
      "select application_name from pg_stat_activity where application_name like 'millrace%' and datname = current_database()",
    );
    expect(open).toEqual([]);
  });
});

const ACCEPTED = '{"status":"accepted"}';
const DUPLICATE = '{"status":"duplicate"}';

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function startExample(name: string, env: Readonly<Record<string, string>>) {
  const port = await freePort();
  const options = { cwd: `${EXAMPLES}${name}`, ipc: false };
  const variables = { ...env, PORT: String(port) };
  const child = spawnProgram(process.execPath, [JITI, "main.ts"], variables, options);
  const output = outputOf(child);
  const over = once(child, "close");
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const url = `http://127.0.0.1:${port}`;
  await until(async () => isOver() || (await fetch(url, { method: "HEAD" })));
  if (isOver()) throw new Error(`Cannot start the example: it ended\n${output()}`);
  return {
    url,
    deliver: async (source: string, body: string | Buffer, headers = {}): Promise<Answer> => {
      const signed = { "content-type": "application/json", "stripe-signature": signatureOf(body) };
      const response = await fetch(`${url}/webhooks/${source}`, {
        method: "POST",
        headers: { ...signed, ...headers },
        body,
      });
      return { status: response.status, text: await response.text() };
    },
    end: async (signal: NodeJS.Signals) => {
      if (!isOver()) child.kill(signal);
      await over;
      return child.exitCode;
    },
  };
}

function signatureOf(body: string | Buffer): string {
  if (typeof body === "string") {
    const { webhooks } = new Stripe("sk_test_unused");
    return webhooks.generateTestHeaderString({ payload: body, secret: SECRET });
  }
  const at = Math.floor(Date.now() / 1_000);
  return `t=${at},v1=${createHmac("sha256", SECRET).update(`${at}.`).update(body).digest("hex")}`;
}

function codeOf(answer: Answer): unknown {
  return JSON.parse(answer.text).error?.code;
}

async function countEvents(url: string): Promise<number> {
  const [row] = await queryOnce(url, "select count(*)::int as events from webhook_events");
  return Number(row?.["events"]);
}
