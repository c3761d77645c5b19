import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { until } from "./until.ts";

const MODULE = fileURLToPath(new URL("end-with-process.ts", import.meta.url));
const OWNER = `
  import { createJiti } from "jiti";
  const [module, pid, folder] = process.argv.slice(1);
  const { endWithThisProcess } = await createJiti(module).import(module);
  endWithThisProcess(Number(pid), folder);
  console.log("started");
  setInterval(() => {}, 1000);
`;

let server: ChildProcess;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-end-"));
  server = spawn("sleep", ["600"], { stdio: "ignore" });
});
afterEach(async () => {
  server.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

test("a server ends, and its folder is removed, when the process that started it is killed", async () => {
  const args = ["--input-type=module", "-e", OWNER, MODULE, String(server.pid), folder];
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const owner = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void owner.kill("SIGKILL"));
  await once(owner.stdout, "data");
  const ended = once(server, "exit");
  owner.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
  await until(() => !existsSync(folder));
});
