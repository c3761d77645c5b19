import { migrate } from "@millrace/ledger";
import { onTestFinished } from "vitest";
import { startPgbouncer } from "../support/pgbouncer.ts";
import { startPostgresPair } from "../support/postgres-standby.ts";
import { withPool } from "../support/query-once.ts";
import { withRedis } from "../support/redis-client.ts";
import { startRedis } from "../support/redis-server.ts";
import { startSentinels } from "../support/sentinel.ts";
import { createSlowDisk } from "../support/slow-disk.ts";
import { startTlsProxy } from "../support/tls-proxy.ts";
import {
  databaseAt,
  redisAt,
  redisWith,
  withSettings,
  type Prepared,
  type SetUp,
  type SetUpServers,
  type Variables,
} from "./set-up-servers.ts";

// The set-ups in which a URL leads to another kind of server than the one that is expected.

const KEY: Variables = { MILLRACE_QUEUE_KEY: "a".repeat(64) };

export const ADDRESS_SET_UPS: Readonly<Record<string, SetUp>> = {
  "A pooler that shares each transaction, and no `DATABASE_SESSION_URL`": async (servers) =>
    databaseAt(await pooled(servers, "transaction")),
  "A pooler that shares each transaction, and `DATABASE_SESSION_URL` names it too": async (
    servers,
  ) => {
    const url = await pooled(servers, "transaction");
    return { variables: { DATABASE_URL: url, DATABASE_SESSION_URL: url } };
  },
  "A pooler that shares each transaction, and `DATABASE_SESSION_URL` leads past it": async (
    servers,
  ) => ({
    variables: {
      DATABASE_URL: await pooled(servers, "transaction"),
      DATABASE_SESSION_URL: servers.databaseUrl,
    },
  }),
  "No `REDIS_URL`, and a pooler of either kind": async (servers) => ({
    variables: { DATABASE_URL: await pooled(servers, "session"), REDIS_URL: undefined },
  }),
  "`DATABASE_URL` names a standby": async () => {
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    await withPool(pair.primary.url, (pool) => migrate({ pool }));
    await pair.caughtUp();
    return await databaseAt(pair.standby.url);
  },
  "`default_transaction_read_only = on`": (servers) =>
    withSettings(servers, { default_transaction_read_only: "on" }),
  "`REDIS_URL` names a node of a Redis Cluster": () => redisWith("--cluster-enabled", "yes"),
  "`REDIS_URL` names a replica": ({ redis }) =>
    redisWith("--replicaof", "127.0.0.1", String(redis.port)),
  "`REDIS_URL` names a Sentinel, and begins with `redis://`": async () => {
    const { sentinelPorts } = await sentinels();
    return redisAt(`redis://:sentinel-s3cret@127.0.0.1:${sentinelPorts[0]}`);
  },
  "The Sentinels do not know the primary's name": () => sentinelsAt("/main?", "/mian?"),
  "The Sentinels refuse the password": () => sentinelsAt("sentinel-s3cret", "wrong"),
  "`redis+sentinel://`, and a Redis answers there": async ({ redis }) => ({
    variables: { REDIS_URL: `redis+sentinel://127.0.0.1:${redis.port}/main`, ...KEY },
  }),
  "`rediss://`, a private CA, and no `REDIS_CA_FILE`": async ({ redis }) => {
    const proxy = await startTlsProxy(redis.url);
    onTestFinished(() => proxy.close());
    return redisAt(`rediss://127.0.0.1:${proxy.port}`);
  },
  "`queue.replicas: 1`, and no replica is online": async () => ({ variables: { REPLICAS: "1" } }),
  "The disk of Redis is slow": async () => {
    const disk = createSlowDisk(800);
    const redis = await startRedis({ env: disk.env });
    onTestFinished(async () => {
      await redis.stop();
      disk.remove();
    });
    return {
      variables: { REDIS_URL: redis.url },
      after: async () => {
        disk.slowDown();
        writeOn(redis.url);
      },
    };
  },
};

async function pooled(
  { postgres, databaseUrl }: SetUpServers,
  poolMode: "transaction" | "session",
): Promise<string> {
  const pooler = await startPgbouncer(postgres.url, { poolMode, poolSize: 50 });
  onTestFinished(() => pooler.stop());
  return pooler.urlOf(databaseUrl);
}

async function sentinels() {
  const started = await startSentinels();
  onTestFinished(() => started.stop());
  return started;
}

async function sentinelsAt(part: string, other: string): Promise<Prepared> {
  const { url } = await sentinels();
  return { variables: { REDIS_URL: url.replace(part, other), ...KEY } };
}

function writeOn(url: string): void {
  let isOver = false;
  const writing = withRedis(url, async (client) => {
    while (!isOver) await client.set("written", Date.now());
  });
  onTestFinished(async () => {
    isOver = true;
    await writing;
  });
}
