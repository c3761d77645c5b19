import { existsSync } from "node:fs";
import { open, readdir, truncate } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { readQueues } from "./check/evidence.ts";
import type { EnvironmentOptions } from "./environment/environment.ts";
import { plainEvent } from "./load/plan.ts";
import { type FaultTest, useFaultTests } from "./start-fault-test.ts";

describeOnRedis("faults that want a test environment of their own", () => {
  const startTest = useFaultTests();
  const start = (options: Partial<EnvironmentOptions> = {}, rate = 40) =>
    startTest({ backend: "redis", ack: "ledger", ...options }, { rate });
  const untilTaken = async (log: FaultTest["log"]) => {
    const before = log.acknowledged;
    await until(() => log.acknowledged > before + 20);
  };

  test("F4 a job whose workers die too often is failed in both stores, and can be retried", async () => {
    const { environment, send, settled, burst, expectInvariants } = await start(
      { ack: "queue", env: { FAULTS_STALLED_MAX: "2" } },
      1,
    );
    const up = environment.keepUp();
    const event = plainEvent("msg_deadly_1", { plan: { dies: 3 } });
    send(event);
    const failed = await settled(event.id, "failed");
    await until(async () => (await readQueues(environment)).failed.has(`steady/${event.id}`));
    expect(failed.attempts).toBe(3);

    await burst(event);
    expect(await settled(event.id, "completed")).toMatchObject({ attempts: 4 });
    await up.stop();
    await expectInvariants();
  });

  test("F13 Redis down at boot: the ledger takes what comes, and it runs once Redis is there", async () => {
    const { environment, log, expectInvariants } = await start({ ack: "queue" });
    await Promise.all(environment.roles.map((role) => role.end("SIGTERM")));
    await environment.servers.redis?.server.kill();
    await Promise.all(environment.roles.map((role) => role.start()));
    await untilTaken(log);
    // On a busy machine the ledger too may once answer too late.
    await until(async () => {
      const ready = await fetch(`${environment.ingresses[0]?.url}/readyz`);
      return ready.status === 200 && (await ready.text()).includes("degraded");
    });

    await environment.servers.restartRedis();
    await expectInvariants();
  });

  test("F8 an AOF that is corrupt: Redis does not start, and the ledger goes on", async () => {
    const { environment, log, expectInvariants } = await start();
    await until(() => log.acknowledged > 100);
    const { server } = redisOf(environment.servers.redis);
    await server.kill();
    const file = await appendOnlyFile(server.folder);
    const handle = await open(file, "r+");
    const { size } = await handle.stat();
    // To the end: Redis takes any bytes for those of a value, which ends where its length says.
    const half = Math.floor(size / 2);
    await handle.write(Buffer.alloc(size - half, "garbage"), 0, size - half, half);
    await handle.close();
    await expect(server.restart()).rejects.toThrow("exited");
    await untilTaken(log);

    await truncate(file, 0);
    await environment.servers.restartRedis();
    await expectInvariants();
  });

  test("F26 an ingress out of sockets goes on when it has some again", async () => {
    const { environment, log } = await start({ ingresses: 0 });
    // Node opens more than 120 files at once while it loads the modules of a role.
    const ingress = environment.addRole("ingress", { openFilesMax: 160 });
    await ingress.start();
    await until(() => log.acknowledged > 20);
    const unusual = log.unusual.length;
    const idle = await openSockets(Number(new URL(ingress.url).port), 200);
    await until(() => log.unusual.length > unusual);
    for (const socket of idle) socket.destroy();
    await untilTaken(log);
    expect(ingress.unexpected).toEqual([]);
  });
});

function redisOf<T>(redis: T | undefined): T {
  if (redis === undefined) throw new Error("Cannot continue: the environment has no Redis");
  return redis;
}

async function appendOnlyFile(folder: TestRedis["folder"]): Promise<string> {
  const inFolder = join(folder, "appendonlydir");
  if (!existsSync(inFolder)) return join(folder, "appendonly.aof");
  const names = await readdir(inFolder);
  return join(inFolder, names.find((name) => name.endsWith(".incr.aof")) ?? "");
}

async function openSockets(port: number, count: number): Promise<readonly Socket[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
      return socket;
    }),
  );
}
