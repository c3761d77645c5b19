import { checkRedis } from "@millrace/queue";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { Redis } from "ioredis";
import { freePort, serve } from "../support/free-port.ts";
import { openForEach } from "../support/open-for.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

describeOnRedis("checkRedis", () => {
  const redis = openForEach(() => startRedis());
  let client: Redis;
  beforeEach(() => {
    client = new Redis(redis.url);
  });
  afterEach(() => client.disconnect());

  const refuses = (code: string, text: string, url = redis.url, over = {}) =>
    expect(checkRedis(url, { allowVolatile: false, ...over })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(text),
    });

  it("takes a Redis that keeps what it is given", async () => {
    expect(await checkRedis(redis.url, { allowVolatile: false })).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      aof: true,
      writes: true,
      maxmemoryPolicy: "noeviction",
      replicas: 0,
      timeMs: expect.any(Number),
    });
  });

  it("refuses a Redis that may evict, with the command that fixes it", async () => {
    await client.config("SET", "maxmemory-policy", "allkeys-lru");
    await refuses("redis_evicts", "CONFIG SET maxmemory-policy noeviction", redis.url, {
      allowVolatile: true,
    });
  });

  it("refuses a Redis without AOF, unless told that this is wanted", async () => {
    await client.config("SET", "appendonly", "no");
    await refuses("redis_volatile", "CONFIG SET appendonly yes");
    expect(await checkRedis(redis.url, { allowVolatile: true })).toMatchObject({ aof: false });
  });

  it("refuses a node of a Redis Cluster, a replica, and a Sentinel, with what to set", async () => {
    // Redis waits five seconds for further replicas before it sends one its data.
    await client.config("SET", "repl-diskless-sync-delay", "0");
    const replicaOf = ["--replicaof", "127.0.0.1", String(redis.port)];
    const [node, replica] = await Promise.all([
      startRedis({ args: ["--cluster-enabled", "yes"] }),
      startRedis({ args: replicaOf }),
    ]);
    onTestFinished(async () => void (await Promise.all([node.stop(), replica.stop()])));
    await refuses("redis_topology", "Redis Cluster", node.url);
    await refuses(
      "redis_topology",
      `Set REDIS_URL to its primary (127.0.0.1:${redis.port})`,
      replica.url,
    );
    await until(async () => {
      return (await checkRedis(redis.url, { allowVolatile: false })).replicas === 1;
    });
    // No Sentinel answers here.
    const url = `redis+sentinel://127.0.0.1:${redis.port}/main`;
    await refuses("redis_topology", "no Sentinel answers", url);
  });

  it("asks nothing but INFO, which managed services answer", async () => {
    await client.acl("SETUSER", "meek", "on", "nopass", "+info", "+quit", "+client", "+hello");
    const url = `redis://meek:any@127.0.0.1:${redis.port}`;
    await expect(checkRedis(url, { allowVolatile: false })).resolves.toMatchObject({ aof: true });
  });

  it("names a Redis unreachable that is not there, refuses, or does not answer", async () => {
    const gone = `redis://127.0.0.1:${await freePort()}`;
    await refuses("redis_unreachable", "ECONNREFUSED", gone);
    await client.config("SET", "requirepass", "secret-password");
    const wrong = `redis://:wrong-password@127.0.0.1:${redis.port}`;
    const refusal = await checkRedis(wrong, { allowVolatile: false }).catch((error) => error);
    expect(refusal).toMatchObject({ code: "redis_unreachable" });
    expect(String(refusal)).not.toContain("wrong-password");
    redis.freeze();
    await refuses("redis_unreachable", "", redis.url, { timeoutMs: 300 });
    redis.thaw();
  });

  it("gives up on what is no Redis", async () => {
    const { port, close } = await serve();
    await refuses("redis_unreachable", "", `redis://127.0.0.1:${port}`, { timeoutMs: 1_000 });
    await close();
  });
});
