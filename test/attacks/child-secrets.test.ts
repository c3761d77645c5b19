import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { startEnvironment, type Run } from "../cli/start-process.ts";
import { launch } from "../support/millrace-process.ts";
import { until } from "../support/until.ts";

// A handler that was taken over reads all that its process was given. `start` gives each role its own.

const CONFIG = fileURLToPath(
  new URL("../fixtures/child-secrets/millrace.config.ts", import.meta.url),
);

const folder = newFolder();
let run: Run;
let stop: () => Promise<unknown>;

beforeAll(async () => {
  const dataDir = join(folder, "data");
  // Every process reads the folder's `.env` by itself.
  const own = [
    "DASHBOARD_USER=ops",
    "DASHBOARD_PASSWORD=dashboards-own-password",
    "ACME_WEBHOOK_SECRET=whsec_bm9ib2R5IGJ1dCB0aGUgaW5ncmVzcyBzZWVzIGl0",
    "HANDLER_API_KEY=for-the-handlers",
  ];
  await writeFile(join(folder, ".env"), `${own.join("\n")}\n`);
  const { child } = launch(
    ["start", "--workers", "1"],
    {
      ...startEnvironment(dataDir),
      MILLRACE_CONFIG: CONFIG,
      ENVIRONMENT_REPORTS: folder,
      DASHBOARD_TOKEN: "dashboards-own-token-of-30-chars",
      ACME_WEBHOOK_SECRET_FILE: join(folder, "none"),
    },
    { cwd: folder, ipc: false },
  );
  stop = async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  };
  run = await until(async () => {
    return JSON.parse(await readFile(join(dataDir, "run.json"), "utf8")) as Run;
  });
});
afterAll(() => stop?.());

async function begunWith(name: string): Promise<string> {
  const process = run.processes.find((each) => each.name === name);
  return await readFile(`/proc/${process?.pid}/environ`, "utf8");
}

async function readableBy(role: string): Promise<string> {
  const report = (await readdir(folder)).find((file) => file.startsWith(`${role}-`));
  return await readFile(join(folder, report ?? "none"), "utf8");
}

const OF_DASHBOARD = ["dashboards-own-password", "dashboards-own-token-of-30-chars"];
const OF_INGRESS = ["whsec_"];

test.each([
  ["ingress", "ingress", OF_INGRESS, OF_DASHBOARD],
  ["worker-1", "worker", [], [...OF_INGRESS, ...OF_DASHBOARD]],
  ["dashboard", "dashboard", OF_DASHBOARD, OF_INGRESS],
])("%s has its own secrets, and none of another role", async (name, role, own, others) => {
  for (const environment of [await begunWith(name), await readableBy(role)]) {
    for (const secret of [...own, "for-the-handlers"]) expect(environment).toContain(secret);
    for (const secret of others) expect(environment).not.toContain(secret);
    expect(environment).toContain(run.database_url);
  }
});
