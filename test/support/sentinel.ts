import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import type { PrivateCa } from "./private-ca.ts";
import { answersPing, redisServerPath, startRedis, tlsSettings } from "./redis-server.ts";
import { untilReplicating, withRedis } from "./redis-client.ts";
import { startServerProcess } from "./server-process.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import { until } from "./until.ts";

const PASSWORD = "redis-s3cret";
const SENTINEL_PASSWORD = "sentinel-s3cret";
const NAME = "main";

export type SentinelSetup = Awaited<ReturnType<typeof startSentinels>>;

/**
 * A primary, a replica, and three Sentinels that watch them.
 * @param lagMs - milliseconds that the replica is behind; not with TLS.
 * @param tls - what all of them speak TLS with, also among each other.
 */
export async function startSentinels({
  lagMs = 0,
  tls,
}: { lagMs?: number; tls?: PrivateCa | undefined } = {}) {
  const { fronts, servers } = await startPair(tls);
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(fronts[0].port, tls)));
  const scheme = tls === undefined ? "redis" : "rediss";
  const how = tls === undefined ? {} : { tls: { ca: tls.ca } };
  const ports = sentinels.map(({ port }) => port);
  const urlOf = (server: 0 | 1) => `${scheme}://:${PASSWORD}@127.0.0.1:${servers[server].port}`;

  const ask = <T>(port: number, ...words: [string, ...string[]]) =>
    withRedis(
      `${scheme}://:${SENTINEL_PASSWORD}@127.0.0.1:${port}`,
      async (client) => (await client.call("SENTINEL", ...words)) as T,
      how,
    );
  const primary = async (): Promise<0 | 1> => {
    const [, port] = await ask<[string, string]>(ports[0] ?? 0, "get-master-addr-by-name", NAME);
    return Number(port) === fronts[0].port ? 0 : 1;
  };
  // On a busy machine Sentinels see that they are late, and do nothing for half a minute each time.
  const inStep = (server: 0 | 1) => untilReplicating(urlOf(server), { ...how, withinMs: 180_000 });
  const setLag = (ms: number) => fronts.forEach((front) => front.lag(ms));
  const stop = async () => {
    await Promise.all([...sentinels, ...servers].map((each) => each.stop()));
    await Promise.all(fronts.map((front) => front.close()));
  };
  let killed: 0 | 1 | undefined;

  try {
    await inStep(1);
    for (const port of ports) {
      await until(async () => {
        const facts = await ask<string[]>(port, "master", NAME);
        const of = (name: string) => facts[facts.indexOf(name) + 1];
        return of("num-other-sentinels") === "2" && of("num-slaves") === "1";
      });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  setLag(lagMs);
  return {
    url: `${scheme}+sentinel://:${PASSWORD}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/${NAME}?sentinelPassword=${SENTINEL_PASSWORD}`,
    sentinelPorts: ports,
    servers,
    primary,
    urlOf,
    lag: setLag,
    failOver: async () => {
      const dying = await primary();
      killed = dying;
      fronts[dying].refuse();
      await servers[dying].kill();
      await until(async () => (await primary()) !== dying, {
        withinMs: 180_000,
        what: "a failover",
      });
    },
    bringBack: async () => {
      if (killed === undefined) return;
      setLag(0);
      fronts[killed].admit();
      await servers[killed].restart();
      await inStep(killed);
      killed = undefined;
    },
    stop,
  };
}

async function startPair(tls: PrivateCa | undefined) {
  const open = async (args: readonly string[]) => {
    const front = await startTcpProxy("redis://127.0.0.1");
    const announced = ["--replica-announce-ip", "127.0.0.1"];
    announced.push("--replica-announce-port", String(front.port));
    const secret = ["--requirepass", PASSWORD, "--masterauth", PASSWORD];
    const server = await startRedis({ args: [...secret, ...announced, ...args], tls });
    front.retarget(server.url);
    return { front, server };
  };
  const first = await open([]);
  const second = await open(["--replicaof", "127.0.0.1", String(first.front.port)]);
  return {
    fronts: [first.front, second.front] as const,
    servers: [first.server, second.server] as const,
  };
}

async function startSentinel(primaryPort: number, tls: PrivateCa | undefined) {
  const path = redisServerPath();
  if (path === undefined) throw new Error("Cannot start a Sentinel: no redis-server on PATH");
  const folder = await mkdtemp(join(tmpdir(), "millrace-sentinel-"));
  const port = await freePort();
  const file = join(folder, "sentinel.conf");
  // Sentinel writes to its file.
  await writeFile(
    file,
    `${(tls === undefined ? [["port", port]] : tlsSettings(port, tls)).map((pair) => pair.join(" ")).join("\n")}
bind 127.0.0.1
dir ${folder}
requirepass ${SENTINEL_PASSWORD}
sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 2
sentinel auth-pass ${NAME} ${PASSWORD}
sentinel down-after-milliseconds ${NAME} 2000
sentinel failover-timeout ${NAME} 10000
`,
  );
  const sentinel = await startServerProcess({
    ...{ name: "Sentinel", path, args: [file, "--sentinel"], folder },
    isReady: () => answersPing(port, tls),
  });
  return {
    port,
    stop: async () => {
      await sentinel.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
