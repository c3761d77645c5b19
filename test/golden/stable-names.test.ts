import { createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";
import { ERROR_CODES, environmentSchema, secretVariable, statusOf } from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import { jobId } from "@millrace/queue";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { millrace } from "../support/run-in-process.ts";
import { age } from "../support/aged-events.ts";
import { onRedis, type TestServers } from "../support/backends.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { createPipeline, post, SECRETS, type Pipeline } from "../support/pipeline.ts";
import { anEvent } from "../support/events.ts";
import { describeOnRedis } from "../support/redis.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { commands, exitCodes } from "./command.ts";
import { columns, functions, spyOnLocks, sqlStates, type LockSpy } from "./database.ts";
import config from "./fixture/millrace.config.ts";
import { answer, operations, valueFields, type Document } from "./http.ts";
import { EVENT_IDS, job, keys } from "./queue.ts";

const CONFIG = fileURLToPath(new URL("fixture/millrace.config.ts", import.meta.url));

async function expectStable(name: string, sections: Record<string, readonly string[]>) {
  const text = Object.entries(sections)
    .map(([title, lines]) => `## ${title}\n\n${lines.join("\n")}\n`)
    .join("\n");
  const advice = [
    `Names that others depend on are no longer as test/golden/${name} has them.`,
    "A running deployment, a user's SQL, script or alert may break. Where the change is meant, say so",
    "in CHANGELOG.md and rewrite the file: npm test -- test/golden/stable-names.test.ts -u",
  ].join("\n");
  await expect(text, advice).toMatchFileSnapshot(name);
}

test("error codes and their HTTP status are stable", async () => {
  const codes = Object.entries(ERROR_CODES) as [keyof typeof ERROR_CODES, object][];
  await expectStable("errors.txt", {
    "Error codes": codes
      .map(([code, entry]) => ("status" in entry ? `${code} ${statusOf(code)}` : code))
      .toSorted(),
  });
});

describeOnRedis("stable names, as roles in processes show them", () => {
  let servers: TestServers;
  let locks: LockSpy;
  let pipeline: Pipeline;
  let redis: Redis;
  let ingress: MillraceProcess;
  let dashboard: MillraceProcess;
  let worker: MillraceProcess;
  const queued = { keys: [] as string[], jobs: [] as string[] };

  beforeAll(async () => {
    // Its migrations take locks too.
    servers = await onRedis(scratchDatabase);
    locks = await spyOnLocks(servers.databaseUrl);
    const over = { MILLRACE_CONFIG: CONFIG };
    pipeline = await createPipeline(servers, over, config);
    redis = new Redis(String(servers.redisUrl));
    [ingress, dashboard] = await Promise.all([
      pipeline.start("ingress"),
      pipeline.start("dashboard"),
    ]);
    await post(ingress.url, { id: "evt_works_1", type: "test.works" });
    const body = Buffer.from([...Buffer.from('{"type":"test.works","data":"'), 0xff, 0x22, 0x7d]);
    await postSigned(ingress.url, "github", body);
    await post(ingress.url, { id: "evt_kept_1", type: "test.works", source: "patient" });
    const atLedger = "bull:millrace-patient:evt_kept_1";
    await until(async () => (await redis.exists(atLedger)) === 1, { what: `the job ${atLedger}` });
    queued.keys = await keys(redis);
    queued.jobs = [
      ...(await job(redis, "bull:millrace-acme:evt_works_1")),
      ...(await job(redis, "bull:millrace-github:delivery_1")),
      ...(await job(redis, atLedger)),
    ];

    worker = await pipeline.start("worker");
    await post(ingress.url, { id: "evt_fails_1", type: "test.fails" });
    await post(ingress.url, { id: "evt_never_1", type: "test.never" });
    await untilSettled(pipeline.database, 5);
    await until(async () => {
      const leaders = await pipeline.database.query("SELECT FROM millrace.leaders");
      return leaders.rowCount === 2;
    });
    await until(
      async () => (await redis.hget("bull:millrace-github:meta", "millrace:epoch")) !== null,
    );
  });
  afterAll(async () => {
    await pipeline?.stop();
    await redis?.quit();
    await servers?.release();
  });

  test("tables, columns, functions, SQLSTATEs and advisory locks are stable", async () => {
    await expectStable("database.txt", {
      "Tables and views": await columns(pipeline.database),
      Functions: await functions(pipeline.database),
      "SQLSTATEs of ours": await sqlStates(pipeline.database),
      "Advisory locks: the text that is hashed": await locks.names(),
    });
  });

  test("Redis keys, envelopes, job ids and run names are stable", async () => {
    const failed = "bull:millrace-acme:evt_fails_1";
    const { failedReason = "", timestamp = "" } = await redis.hgetall(failed);
    const { rows } = await pipeline.database.query(
      "select failed_run as run from millrace.events where event_id = 'evt_fails_1'",
    );
    await expectStable("queue.txt", {
      "Redis keys before a worker runs": queued.keys,
      "Fields of a queue's meta": (await redis.hkeys("bull:millrace-acme:meta")).toSorted(),
      "Jobs: as received, with a body that is no UTF-8, and from the ledger": queued.jobs,
      "Runs of a job whose two attempts failed": [
        `millrace.events.failed_run ${rows[0]?.run.replace(timestamp, "<the job's timestamp>")}`,
        `attemptsMade ${await redis.hget(failed, "atm")}`,
        `code ${/^\w+/.exec(failedReason)?.[0]}`,
      ],
      "Job ids": EVENT_IDS.flatMap((id) => [
        `${JSON.stringify(id)} ${jobId(id, 0)}`,
        `${JSON.stringify(id)} generation 2 ${jobId(id, 2)}`,
      ]),
    });
  });

  test("paths, parameters and fields of the API and of every role are stable", async () => {
    const response = await fetch(`${dashboard.url}/api/openapi.json`);
    const document = (await response.json()) as Document;
    const posted = (path: string) => answer(`POST ${path}`, ingress.url + path, { method: "POST" });
    const status = async (role: string, url: string) => [
      ...(await answer(`${role} GET /healthz`, `${url}/healthz`)),
      ...(await answer(`${role} GET /readyz`, `${url}/readyz`)),
      ...(await answer(`${role} GET /metrics`, `${url}/metrics`)),
    ];
    const again = await post(ingress.url, { id: "evt_works_1", type: "test.works" });
    const first = await post(ingress.url, { id: "evt_works_2", type: "test.works" });
    await expectStable("http.txt", {
      "Answers to a sender": [
        `POST /webhooks/{source} ${first.status} ${first.text}`,
        `POST /webhooks/{source} ${again.status} ${again.text}`,
        ...(await posted("/webhooks/acme")),
        ...(await posted("/webhooks/stranger")),
      ],
      "Status of the roles": [
        ...(await status("ingress", ingress.url)),
        ...(await status("dashboard", dashboard.url)),
        ...(await status("worker", worker.url)),
      ],
      "The dashboard's API": operations(document),
    });
  });

  test("commands, flags, JSON fields, exit codes and environment variables are stable", async () => {
    const json = async (args: string) => {
      const { stdout, stderr } = await millrace(args.split(" "), { env: pipeline.env });
      if (stdout === "") throw new Error(`millrace ${args} printed nothing: ${stderr}`);
      const fields = valueFields(JSON.parse(stdout));
      return [`millrace ${args}`, ...fields.map((field) => `  ${field}`)];
    };
    // An event without a job is a disagreement once it is past the grace, until a worker repairs it.
    const workerExit = await worker.end("SIGTERM");
    const left = anEvent({ source: "acme" });
    await createLedger({ pool: pipeline.database }).intake.accept([left]);
    await age(pipeline.database, 1, left.eventId);
    const defaults = environmentSchema.parse({}) as Record<string, string | number | undefined>;
    await expectStable("command.txt", {
      "Commands, arguments and flags": await commands(),
      "Fields of JSON": [
        ...(await json("events --type test.fails --json")),
        ...(await json("events acme evt_fails_1 --json")),
        ...(await json("retry acme evt_never_1 --json")),
        ...(await json("retry --type test.none --json")),
        ...(await json("doctor --json")),
      ],
      "Exit codes": [
        ...(await exitCodes(pipeline.env)),
        `${workerExit} millrace worker, after SIGTERM`,
        `${await ingress.end("SIGTERM")} millrace ingress, after SIGTERM`,
        `${await dashboard.end("SIGTERM")} millrace dashboard, after SIGTERM`,
      ],
      "Environment variables": [
        ...Object.keys(environmentSchema.shape).map((name) =>
          defaults[name] === undefined ? name : `${name} ${defaults[name]}`,
        ),
        `${secretVariable("hook-mesh")} of source hook-mesh`,
      ],
    });
  });
});

async function untilSettled(database: Pipeline["database"], least = 1): Promise<void> {
  await until(async () => {
    const { rows } = await database.query<{ status: string }>("select status from webhook_events");
    return rows.length >= least && rows.every(({ status }) => status !== "pending");
  });
}

async function postSigned(ingressUrl: string, source: "github", body: Buffer): Promise<void> {
  const signature = createHmac("sha256", SECRETS[source]).update(body).digest("hex");
  const response = await fetch(`${ingressUrl}/webhooks/${source}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-delivery": "delivery_1",
      "x-github-event": "push",
      "x-hub-signature-256": `sha256=${signature}`,
    },
    body: new Uint8Array(body),
  });
  expect(response.status).toBe(202);
}
