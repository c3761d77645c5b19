import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  isQueueKey,
  makeQueueKey,
  readEnvironment,
  type Config,
  type Provider,
} from "@millrace/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ensureQueueKey,
  readDevelopmentSecrets,
  secretVariables,
  readQueueKey,
  readRun,
  removeRun,
  writeRun,
  type Run,
} from "./data-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-data-"));
});
afterEach(() => rm(folder, { recursive: true }));

const run: Run = {
  pid: process.pid,
  started_at: "2026-11-21T10:00:00.000Z",
  config: "/srv/millrace.config.ts",
  ingress_url: "http://127.0.0.1:3000",
  dashboard_url: "http://127.0.0.1:3001",
  database_url: "postgres://millrace:secret@127.0.0.1:5433/millrace",
  processes: [{ name: "ingress", pid: 1, port: 3000 }],
};

test("a run is read back as it was written, and only its owner reads it", async () => {
  await writeRun(folder, run);
  expect(await readRun(folder)).toEqual(run);
  expect((await stat(join(folder, "run.json"))).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["run.json"]);
});

test("a run whose process is gone is no run", async () => {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  await writeRun(folder, { ...run, pid: child.pid ?? 0 });
  expect(await readRun(folder)).toBeUndefined();
});

test("no file, a removed file and a broken file are no run", async () => {
  expect(await readRun(folder)).toBeUndefined();
  await writeRun(folder, run);
  await removeRun(folder);
  expect(await readRun(folder)).toBeUndefined();
  await writeFile(join(folder, "run.json"), '{"pid":');
  expect(await readRun(folder)).toBeUndefined();
});

let count = 0;
const provider = { name: "hmac", generateSecret: () => `secret-${(count += 1)}` } as Provider;

const secretsOf = (...names: readonly string[]) => {
  const sources = names.map((name) => [name, { provider, options: {} }]);
  const config = { sources: Object.fromEntries(sources) } as Config;
  return secretVariables(config, { env: {}, dataDir: folder });
};

test("a secret is made once and kept, and a new source gets one of its own", async () => {
  const first = await secretsOf("stripe");
  const second = await secretsOf("stripe", "github");
  expect(second["STRIPE_WEBHOOK_SECRET"]).toBe(first["STRIPE_WEBHOOK_SECRET"]);
  expect(second["GITHUB_WEBHOOK_SECRET"]).not.toBe(first["STRIPE_WEBHOOK_SECRET"]);
  expect(Object.values(await readDevelopmentSecrets(folder))).toEqual(Object.values(second));
});

test("a source that is gone from the config keeps its secret in the file", async () => {
  const { STRIPE_WEBHOOK_SECRET: stripe } = await secretsOf("stripe");
  expect(await secretsOf("github")).not.toHaveProperty("STRIPE_WEBHOOK_SECRET");
  expect(await readDevelopmentSecrets(folder)).toHaveProperty("stripe", stripe);
});

test("only the owner reads the file", async () => {
  await secretsOf("stripe");
  const { mode } = await stat(join(folder, "secrets.json"));
  expect(mode & 0o777).toBe(0o600);
});

test("a file that is not ours is left alone, and named", async () => {
  await writeFile(join(folder, "secrets.json"), "[]");
  await expect(secretsOf("stripe")).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining("secrets.json"),
  });
});

const settings = (env = {}) => ({
  environment: readEnvironment(env),
  configPath: "",
  dataDir: folder,
});

test("a key is made once, kept for its owner alone, and found by other commands", async () => {
  expect(await readQueueKey(folder)).toBeUndefined();
  const made = await ensureQueueKey(settings());
  expect(isQueueKey(made)).toBe(true);
  expect(await ensureQueueKey(settings())).toBe(made);
  expect(await readQueueKey(folder)).toBe(made);
  const { mode } = await stat(join(folder, "queue-key"));
  expect(mode & 0o777).toBe(0o600);
});

test("the environment's key goes first, and none is made then", async () => {
  const own = makeQueueKey();
  expect(await ensureQueueKey(settings({ MILLRACE_QUEUE_KEY: own }))).toBe(own);
  expect(await readQueueKey(folder)).toBeUndefined();
});

test("a file that has no key is named", async () => {
  await writeFile(join(folder, "queue-key"), "nothing");
  await expect(ensureQueueKey(settings())).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining("queue-key"),
  });
});
