import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import type { TestProject } from "vitest/node";
import { chromiumPath } from "./chromium.ts";
import { endWithThisProcess } from "./end-with-process.ts";
import { redisServerPath } from "./redis.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The run's own Postgres; use `scratchDatabase()`. */
    postgresUrl: string;
    /** A folder that goes with the run. */
    folder: string;
    /** Whether this machine has a redis-server; use `describeOnRedis`. */
    hasRedis: boolean;
    /** Where this machine has a Chromium; use `describeInBrowser`. */
    chromium: string | undefined;
  }
}

/** One Postgres for the run, in a folder of its own; suites that kill servers start their own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const hasRedis = redisServerPath() !== undefined;
  if (!hasRedis && process.env["CI"] === "true") {
    throw new Error(
      "Cannot run the Redis suites: no redis-server on PATH (apt-get install redis-server)",
    );
  }
  project.provide("hasRedis", hasRedis);
  const chromium = chromiumPath();
  if (chromium === undefined && process.env["CI"] === "true") {
    throw new Error(
      "Cannot run the browser suites: no chromium on PATH (apt-get install chromium, or set CHROMIUM)",
    );
  }
  project.provide("chromium", chromium);

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
