import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRun, removeRun, writeRun, type Run } from "./run-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-run-"));
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
