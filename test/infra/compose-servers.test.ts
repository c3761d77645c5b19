import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { checkRedis } from "@millrace/queue";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { newFolder } from "../support/new-folder.ts";
import { queryOnce } from "../support/query-once.ts";
import { withRedis } from "../support/redis-client.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { environmentOf, readComposeFile, settingsOf } from "./compose-file.ts";
import { ROOT } from "./context.ts";

describeOnRedis("the compose file's Redis", () => {
  let server: ChildProcess;
  let port: number;
  let healthy: string;
  let env: Record<string, string>;
  let url: string;

  beforeAll(async () => {
    const redis = (await readComposeFile()).services["redis"];
    const [shell = "", ...words] = redis?.command ?? [];
    healthy = redis?.healthcheck?.test?.[1] ?? "";
    port = await freePort();
    env = { PATH: process.env["PATH"] ?? "", ...(await environmentOf(redis)) };
    const here = ["--port", String(port), "--bind", "127.0.0.1"];
    const mounted = words.map((word) => word.replace(/^\/millrace\//, `${ROOT}infra/redis/`));
    server = spawn(shell, [...mounted, ...here], { cwd: newFolder(), env, stdio: "ignore" });
    url = `redis://admin:${encodeURIComponent(env["REDISCLI_AUTH"] ?? "")}@127.0.0.1:${port}`;
    await until(() => checkRedis(url, { allowVolatile: false }));
  });
  afterAll(async () => {
    const gone = once(server, "exit");
    server.kill("SIGKILL");
    await gone;
  });

  test("has an end of its memory, or the ingress could not tell that it fills", async () => {
    const settings = { maxmemory: String(512 * 1024 ** 2), appendfsync: "everysec", save: "" };
    await withRedis(url, async (client) => {
      for (const [name, value] of Object.entries(settings)) {
        expect(await client.config("GET", name)).toEqual([name, value]);
      }
    });
  });

  test("takes each role by its own user and password, and not by another's", async () => {
    const as = (user: string, password: string) =>
      checkRedis(`redis://millrace-${user}:${encodeURIComponent(password)}@127.0.0.1:${port}`, {
        allowVolatile: false,
      });
    for (const user of ["ingress", "worker", "dashboard"]) {
      const password = env[`REDIS_${user.toUpperCase()}_PASSWORD`] ?? "";
      expect(await as(user, password)).toMatchObject({ aof: true });
      await expect(as(user, env["REDISCLI_AUTH"] ?? "")).rejects.toThrow("WRONGPASS");
    }
  });

  test("is well by its health check, and not without its password", () => {
    const check = healthy.replace("redis-cli", `redis-cli -p ${port}`);
    expect(spawnSync("sh", ["-c", check], { env }).status).toBe(0);
    const { REDISCLI_AUTH: _, ...without } = env;
    expect(spawnSync("sh", ["-c", check], { env: without }).status).not.toBe(0);
  });
});

test("Postgres takes every setting of the compose file", async () => {
  const postgres = (await readComposeFile()).services["postgres"];
  const settings = settingsOf(postgres?.command ?? []);
  expect(settings.length).toBeGreaterThan(3);
  for (const [name, value] of settings) {
    // Checked as the start would, and in force after a restart alone, before which it is undone.
    await queryOnce(inject("postgresUrl"), `ALTER SYSTEM SET ${name} = '${value}'`);
    await queryOnce(inject("postgresUrl"), `ALTER SYSTEM RESET ${name}`);
  }
});
