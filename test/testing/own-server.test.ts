import { readdir } from "node:fs/promises";
import { defineConfig, stripe } from "millrace";
import setup from "millrace/testing/global-setup";
import { deliver } from "millrace/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newFolder } from "../support/new-folder.ts";

const config = defineConfig({ sources: { stripe: stripe() } });
let folder: string;

beforeEach(() => {
  folder = newFolder();
  vi.stubEnv("TMPDIR", folder);
  vi.stubEnv("TEST_DATABASE_URL", "");
  vi.stubEnv("DATABASE_URL", "");
});
afterEach(() => void vi.unstubAllEnvs());

test("a test environment starts a Postgres if none is named, and removes it again", async () => {
  let folders: string[] = [];
  const check = async () => void (folders = await readdir(folder));
  expect(await deliver(config, "stripe", "a", {}, { check })).toMatchObject({
    outcome: "ignored",
  });
  expect(folders).toEqual([expect.stringMatching(/^millrace-testing-/)]);
  expect(await readdir(folder)).toEqual([]);
});

test("the global setup starts one for all test environments of a run", async () => {
  const teardown = await setup();
  const url = process.env["TEST_DATABASE_URL"];
  expect(url).toMatch(/^postgres/);
  expect(await deliver(config, "stripe", "a")).toMatchObject({ outcome: "ignored" });
  expect(await readdir(folder)).toHaveLength(1);

  const idle = await setup();
  await idle();
  expect(process.env["TEST_DATABASE_URL"]).toBe(url);
  await teardown();
  expect(process.env["TEST_DATABASE_URL"]).toBeUndefined();
  expect(await readdir(folder)).toEqual([]);
});
