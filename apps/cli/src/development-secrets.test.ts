import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Provider } from "@millrace/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureDevelopmentSecrets, readDevelopmentSecrets } from "./development-secrets.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-secrets-"));
});
afterEach(() => rm(folder, { recursive: true }));

let made = 0;
const provider = { generateSecret: () => `secret-${(made += 1)}` } as Provider;

test("a secret is made once and kept, and a new source gets one of its own", async () => {
  const first = await ensureDevelopmentSecrets(folder, { stripe: provider });
  const second = await ensureDevelopmentSecrets(folder, { stripe: provider, github: provider });
  expect(second["stripe"]).toBe(first["stripe"]);
  expect(second["github"]).not.toBe(first["stripe"]);
  expect(await readDevelopmentSecrets(folder)).toEqual(second);
});

test("a source that is gone from the config keeps its secret in the file", async () => {
  const { stripe } = await ensureDevelopmentSecrets(folder, { stripe: provider });
  expect(await ensureDevelopmentSecrets(folder, { github: provider })).not.toHaveProperty("stripe");
  expect(await readDevelopmentSecrets(folder)).toHaveProperty("stripe", stripe);
});

test("only the owner reads the file", async () => {
  await ensureDevelopmentSecrets(folder, { stripe: provider });
  const { mode } = await stat(join(folder, "secrets.json"));
  expect(mode & 0o777).toBe(0o600);
});

test("a file that is not ours is left alone, and named", async () => {
  await writeFile(join(folder, "secrets.json"), "[]");
  await expect(ensureDevelopmentSecrets(folder, { stripe: provider })).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining("secrets.json"),
  });
});
