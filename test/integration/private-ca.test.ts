import { on, standardWebhooks } from "millrace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";
import { reaches } from "../support/seen-events.ts";
import { CA_FILE, startTlsProxy, type TlsProxy } from "../support/tls-proxy.ts";

const config = {
  sources: { acme: standardWebhooks() },
  handlers: [on("acme", "*", () => {})],
};

describeOnRedis("servers whose certificates a private CA signed", () => {
  const stack = openForAll(() => startStack(onRedis, { config, worker: false }));
  let postgres: TlsProxy;
  let redis: TlsProxy;
  let databaseUrl: string;
  let redisUrl: string;

  beforeAll(async () => {
    const { servers } = stack;
    [postgres, redis] = await Promise.all([
      startTlsProxy(servers.databaseUrl),
      startTlsProxy(String(servers.redisUrl)),
    ]);
    const url = new URL(servers.databaseUrl);
    url.port = String(postgres.port);
    url.searchParams.set("sslmode", "verify-full");
    databaseUrl = url.href;
    redisUrl = `rediss://127.0.0.1:${redis.port}`;
  });
  afterAll(() => Promise.all([postgres?.close(), redis?.close()]));

  test("are reached by the CA's file, and an event completes", async () => {
    const env = {
      DATABASE_URL: `${databaseUrl}&sslrootcert=${encodeURIComponent(CA_FILE)}`,
      REDIS_URL: redisUrl,
      REDIS_CA_FILE: CA_FILE,
    };
    const ingress = await stack.pipeline.startInProcess("ingress", env);
    const worker = await stack.pipeline.startInProcess("worker", env);
    await post(ingress.url, { id: "evt_secure_1", type: "thing.happened" });
    await reaches(stack.pipeline.database, "evt_secure_1", "completed");
    expect(postgres.connections).toBeGreaterThan(0);
    expect(redis.connections).toBeGreaterThan(0);
    await Promise.all([ingress.close(), worker.close()]);
  });
});
