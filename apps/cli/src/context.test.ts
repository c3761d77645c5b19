import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findConfig } from "./context.ts";

let repository: string;
let at: { cwd: string; bin: string };
const put = async (path: string) => {
  await mkdir(join(repository, path, ".."), { recursive: true });
  await writeFile(join(repository, path), "");
};

beforeEach(async () => {
  repository = await realpath(await mkdtemp(join(tmpdir(), "millrace-repository-")));
  at = { cwd: repository, bin: join(repository, "apps/cli/bin/millrace.mjs") };
});
afterEach(() => rm(repository, { recursive: true }));

test("the named config goes first, relative to the current folder", async () => {
  await put("millrace.config.ts");
  expect(findConfig("other/config.ts", at)).toBe(join(repository, "other/config.ts"));
  expect(findConfig("/srv/config.ts", at)).toBe("/srv/config.ts");
});

test("inside the repository the example is the default, unless the folder has its own", async () => {
  const example = join(repository, "examples/store/millrace.config.ts");
  await put("examples/store/millrace.config.ts");
  expect(findConfig(undefined, at)).toBe(example);
  expect(findConfig(undefined, { ...at, cwd: join(repository, "docs") })).toBe(example);
  await put("millrace.config.ts");
  expect(findConfig(undefined, at)).toBe(join(repository, "millrace.config.ts"));
});

test("elsewhere it is the current folder's, whether it is there or not", async () => {
  await put("examples/store/millrace.config.ts");
  const beside = `${repository}-beside`;
  expect(findConfig(undefined, { ...at, cwd: beside })).toBe(join(beside, "millrace.config.ts"));
});
