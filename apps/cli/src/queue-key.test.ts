import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isQueueKey, makeQueueKey, readEnvironment } from "@millrace/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureQueueKey, readQueueKey } from "./queue-key.ts";

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "millrace-key-"));
});
afterEach(() => rm(dataDir, { recursive: true }));

const settings = (env = {}) => ({ environment: readEnvironment(env), configPath: "", dataDir });

test("a key is made once, kept for its owner alone, and found by other commands", async () => {
  expect(await readQueueKey(dataDir)).toBeUndefined();
  const made = await ensureQueueKey(settings());
  expect(isQueueKey(made)).toBe(true);
  expect(await ensureQueueKey(settings())).toBe(made);
  expect(await readQueueKey(dataDir)).toBe(made);
  const { mode } = await stat(join(dataDir, "queue-key"));
  expect(mode & 0o777).toBe(0o600);
});

test("the environment's key goes first, and none is made then", async () => {
  const own = makeQueueKey();
  expect(await ensureQueueKey(settings({ MILLRACE_QUEUE_KEY: own }))).toBe(own);
  expect(await readQueueKey(dataDir)).toBeUndefined();
});

test("a file that has no key is named", async () => {
  await writeFile(join(dataDir, "queue-key"), "nothing");
  await expect(ensureQueueKey(settings())).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining("queue-key"),
  });
});
