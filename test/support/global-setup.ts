import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import type { TestProject } from "vitest/node";
import { endWithThisProcess } from "./end-with-process.ts";
import { executablePath } from "./executable-path.ts";
import { pgbouncerPath } from "./pgbouncer.ts";
import { postgresProgramsPath } from "./postgres-standby.ts";
import { redisServerPath } from "./redis.ts";

const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    folder: string;
    hasRedis: boolean;
    hasPgbouncer: boolean;
    hasPostgresPrograms: boolean;
    chromium: string | undefined;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  provideServers(project);
  // Processes run the bundle, and `tsc -b` alone does not write it.
  const scripts = new URL("../../scripts/", import.meta.url);
  const { bundle } = (await import(new URL("bundle.mjs", scripts).href)) as {
    bundle: (root: string) => Promise<void>;
  };
  await bundle(fileURLToPath(new URL("..", scripts)));

  const folder = await mkdtemp(join(tmpdir(), "millrace-test-"));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres") });
  const release = endWithThisProcess(postgres.pid, folder);
  project.provide("postgresUrl", postgres.url);
  project.provide("folder", folder);
  // For `millrace/testing`, as a user's own global setup does.
  process.env["TEST_DATABASE_URL"] = postgres.url;
  return async () => {
    delete process.env["TEST_DATABASE_URL"];
    await postgres.stop("immediate");
    release();
    await rm(folder, { recursive: true, force: true });
  };
}

function provideServers(project: TestProject): void {
  const chromium = chromiumPath();
  const found = {
    hasRedis: redisServerPath() !== undefined,
    hasPgbouncer: pgbouncerPath() !== undefined,
    hasPostgresPrograms: postgresProgramsPath() !== undefined,
  };
  const servers = [
    ["Redis", "redis-server", found.hasRedis],
    ["PgBouncer", "pgbouncer", found.hasPgbouncer],
    ["standby", "postgresql", found.hasPostgresPrograms],
    ["browser", "chromium", chromium !== undefined],
  ] as const;
  const missing = servers.filter(([, , isThere]) => !isThere);
  if (missing.length > 0 && process.env["CI"] === "true") {
    const suites = missing.map(([suite]) => suite).join(", ");
    const packages = missing.map(([, name]) => name).join(" ");
    throw new Error(`Cannot run the suites of ${suites}: apt-get install ${packages}`);
  }
  project.provide("hasRedis", found.hasRedis);
  project.provide("hasPgbouncer", found.hasPgbouncer);
  project.provide("hasPostgresPrograms", found.hasPostgresPrograms);
  project.provide("chromium", chromium);
}

function chromiumPath(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined && named !== "") return named;
  return BROWSERS.map((name) => executablePath(name, ["/usr/bin"])).find(
    (path) => path !== undefined,
  );
}
