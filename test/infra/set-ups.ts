import { openQueues } from "@millrace/connect";
import { readEnvironment } from "@millrace/core";
import pg from "pg";
import { onTestFinished, vi } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startRole } from "../support/millrace-process.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { queryOnce } from "../support/query-once.ts";
import { withRedis } from "../support/redis-client.ts";
import { reaches } from "../support/seen-events.ts";
import { startTlsProxy } from "../support/tls-proxy.ts";
import { until } from "../support/until.ts";
import { makeEvent } from "../worker/worker-fixture.ts";
import { ADDRESS_SET_UPS } from "./address-set-ups.ts";
import {
  acceptOnlyTls,
  asLogin,
  asRole,
  changeSetting,
  claimVersion,
  databaseAt,
  newLogin,
  newName,
  ownRedis,
  PASSWORD,
  redisAt,
  redisWith,
  startOnFullDisk,
  stream,
  withSettings,
  withUrl,
  type SetUp,
  type SetUpServers,
  type Variables,
} from "./set-up-servers.ts";

export const SET_UPS: Readonly<Record<string, SetUp>> = {
  ...ADDRESS_SET_UPS,
  "No `DATABASE_URL`": () => databaseAt(undefined),
  "A password that Postgres refuses": ({ databaseUrl: url }) =>
    databaseAt(withUrl(url, (each) => (each.password = "another"))),
  "A database that is not there": ({ databaseUrl: url }) =>
    databaseAt(withUrl(url, (each) => (each.pathname = "/nowhere"))),
  "A host name without an address": ({ databaseUrl: url }) =>
    databaseAt(withUrl(url, (each) => (each.hostname = "postgres.invalid"))),
  "Nothing listens at `DATABASE_URL`": async ({ databaseUrl: url }) => {
    const port = String(await freePort());
    return databaseAt(withUrl(url, (each) => (each.port = port)));
  },
  "`sslmode=require`, and Postgres has no TLS": ({ databaseUrl: url }) =>
    databaseAt(withUrl(url, (each) => each.searchParams.set("sslmode", "require"))),
  "No `sslmode`, and Postgres accepts only TLS": async ({ postgres, databaseUrl: url }) => {
    const login = await newLogin(postgres);
    await acceptOnlyTls(postgres, login);
    return databaseAt(asLogin(url, login));
  },
  "A certificate of a private CA": async ({ databaseUrl: url }) => {
    const proxy = await startTlsProxy(url);
    onTestFinished(() => proxy.close());
    return databaseAt(
      withUrl(url, (each) => {
        each.port = String(proxy.port);
        each.searchParams.set("sslmode", "verify-full");
      }),
    );
  },
  "Postgres before 14": async ({ postgres, databaseUrl: url }) =>
    databaseAt(await claimVersion(13, postgres.url, url)),
  "A migration is missing": async ({ newDatabase }) =>
    databaseAt(await newDatabase({ migrated: false })),
  "A migration that this version does not have": async ({ newDatabase }) => {
    const url = await newDatabase();
    await queryOnce(
      url,
      "INSERT INTO millrace.migrations (scope, number, name, checksum) VALUES ('millrace', 0, 'other', '')",
    );
    return databaseAt(url);
  },
  "A login without the rights of its role": (servers) =>
    asRole(servers, "worker", "REVOKE INSERT ON millrace.attempts FROM millrace_worker"),
  "No `RETENTION_DATABASE_URL`, and the worker's login may not delete": (servers) =>
    asRole(servers, "worker"),
  "One worker may need more connections than there are": async () => ({
    variables: { CONCURRENCY: "400" },
  }),
  "All workers together may need more connections than there are": async (servers) => {
    await startOther(servers, { CONCURRENCY: "270" });
    return {};
  },
  "`synchronous_commit = off`": (servers) => withSettings(servers, { synchronous_commit: "off" }),
  "`fsync = off`": (servers) => changeSetting(servers, "fsync", "off"),
  "`full_page_writes = off`": (servers) => changeSetting(servers, "full_page_writes", "off"),
  "`default_transaction_isolation` is not `read committed`": (servers) =>
    withSettings(servers, { default_transaction_isolation: "'repeatable read'" }),
  "`transaction_timeout` is shorter than a handler's time": (servers) =>
    withSettings(servers, { transaction_timeout: "'5s'" }),
  "`statement_timeout` or `idle_in_transaction_session_timeout` of the login": async (servers) => ({
    ...(await withSettings(servers, {
      statement_timeout: "'100ms'",
      idle_in_transaction_session_timeout: "'100ms'",
    })),
    after: () => completes(servers, "slow"),
  }),
  "A standby streams, and `synchronous_standby_names` is empty": stream,
  "Your own tables in the schema `millrace`": async ({ newDatabase }) => {
    const url = await newDatabase();
    await queryOnce(url, 'SET search_path = "$user", public; CREATE TABLE orders (id text)');
    return databaseAt(url);
  },
  "The clocks are more than 5 s apart": async () => ({
    after: async () => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
      onTestFinished(() => void vi.useRealTimers());
    },
  }),
  "Redis without AOF": () => redisWith("--appendonly", "no"),
  "Redis without AOF, and `MILLRACE_REDIS_VOLATILE=1`": async () => {
    const { variables } = await redisWith("--appendonly", "no");
    return { variables: { ...variables, MILLRACE_REDIS_VOLATILE: "1" } };
  },
  "Redis that evicts": () => redisWith("--maxmemory-policy", "allkeys-lru"),
  "Redis that evicts and has no AOF": () =>
    redisWith("--maxmemory-policy", "allkeys-lru", "--appendonly", "no"),
  "`appendfsync no`": () => redisWith("--appendfsync", "no"),
  "Redis cannot write its AOF": async () => redisAt((await startOnFullDisk()).url),
  "A database number that Redis does not have": async ({ redis }) => redisAt(`${redis.url}/99`),
  "A password that Redis refuses": async () => {
    const url = await redisWithPassword();
    return redisAt(withUrl(url, (each) => (each.password = "another")));
  },
  "No password, and Redis requires one": async () => redisAt(await redisWithPassword()),
  "Nothing listens at `REDIS_URL`": async () => redisAt(`redis://127.0.0.1:${await freePort()}`),
  "`redis://`, and Redis speaks TLS": async ({ redis }) => {
    const proxy = await startTlsProxy(redis.url);
    onTestFinished(() => proxy.close());
    return redisAt(`redis://127.0.0.1:${proxy.port}`);
  },
  "`rediss://`, and Redis does not speak TLS": async ({ redis }) =>
    redisAt(`rediss://127.0.0.1:${redis.port}`),
  "Redis is on another machine, and no `MILLRACE_QUEUE_KEY`": () =>
    redisAt("redis://redis.invalid:6379"),
  "`MILLRACE_QUEUE_KEY` differs between ingress and worker": async () => {
    const { variables } = await redisWith();
    const key = (digit: string) => ({ MILLRACE_QUEUE_KEY: digit.repeat(64) });
    return {
      variables: { ...variables, ...key("a") },
      after: () => isRejected({ ...variables, ...key("b") }),
    };
  },
  "Two databases on one database number of Redis, with a source of the same name": async (
    servers,
  ) => {
    const url = await servers.newDatabase();
    await startOther(servers, { DATABASE_URL: url });
    return {};
  },
};

async function redisWithPassword(): Promise<string> {
  const redis = await ownRedis();
  await withRedis(redis.url, (client) => client.config("SET", "requirepass", PASSWORD));
  return redis.url;
}

async function startOther({ databaseUrl, redis }: SetUpServers, over: Variables): Promise<void> {
  const config = new URL("../fixtures/set-ups/millrace.config.ts", import.meta.url).pathname;
  const other = await startRole("worker", {
    ...{ MILLRACE_CONFIG: config, DATABASE_URL: databaseUrl, REDIS_URL: redis.url },
    ...{ WORKER_PORT: "0", HOST: "127.0.0.1", ...over },
  });
  onTestFinished(async () => void (await other.end()));
}

async function completes({ databaseUrl: url, redis }: SetUpServers, type: string): Promise<void> {
  const queues = await openTestQueues({ databaseUrl: url, redisUrl: redis.url }, "cli", ["shop"]);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    const event = makeEvent({ type, eventId: newName() });
    await queues.enqueue([event]);
    await reaches(pool, event.eventId, "completed");
  } finally {
    await Promise.all([pool.end(), queues.close()]);
  }
}

async function isRejected(variables: Variables): Promise<void> {
  const environment = readEnvironment(variables);
  const queues = await openQueues(environment, { role: "cli", sources: ["shop"] });
  try {
    await queues.enqueue([makeEvent({ eventId: newName() })]);
    await until(async () => (await queues.counts()).get("shop")?.failed === 1);
  } finally {
    await queues.close();
  }
}
