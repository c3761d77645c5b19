import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockFolder } from "./lock-folder.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-lock-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("a folder that is taken is refused by name, with the pid", async () => {
  const lock = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({
    code: "already_running",
    message: expect.stringContaining(String(process.pid)),
    cause: { pid: process.pid },
  });
  await lock.release();
});

test("a folder that was given back can be taken again", async () => {
  await (await lockFolder(folder)).release();
  await (await lockFolder(folder)).release();
  expect(await readdir(join(folder, "lock"))).toEqual([]);
});

test("of twenty that ask at once exactly one gets the folder", async () => {
  const asked = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
  const got = asked.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  expect(got).toHaveLength(1);
  await got[0]?.release();
});

test("a folder that does not exist is made, for its owner alone", async () => {
  const lock = await lockFolder(join(folder, "a", "b"));
  expect((await stat(join(folder, "a", "b"))).mode & 0o777).toBe(0o700);
  await lock.release();
});

test("the lock of a process that died is no lock", async () => {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  await leaveLock(`${child.pid}.0.x`);
  const lock = await lockFolder(folder);
  expect(await readdir(join(folder, "lock"))).toHaveLength(1);
  await lock.release();
});

test.runIf(process.platform === "linux")(
  "the lock of a process whose number was given to another is no lock",
  async () => {
    await leaveLock(`${process.pid}.1-00000000.x`);
    const lock = await lockFolder(folder);
    expect(await readdir(join(folder, "lock"))).toHaveLength(1);
    await lock.release();
  },
);

async function leaveLock(name: string): Promise<void> {
  await mkdir(join(folder, "lock"));
  await writeFile(join(folder, "lock", name), "holds");
}
