import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { freePort } from "../support/free-port.ts";
import { scratchDatabase, type TestDatabase } from "../support/scratch-database.ts";
import { refusedStart, startMillrace, type StartProcess } from "./start-process.ts";

describe("millrace start that cannot work", () => {
  const dataDir = newFolder();
  let database: TestDatabase;
  let running: StartProcess | undefined;
  beforeAll(async () => {
    database = await scratchDatabase();
  });
  afterAll(async () => {
    running?.signal("SIGTERM");
    await running?.ended;
    await database?.drop();
  });

  test("ends with the error of the role that will not start", async () => {
    const config = join(dataDir, "broken.config.ts");
    const text = `import { defineConfig, github } from ${JSON.stringify(import.meta.resolve("millrace"))};
      export default defineConfig({
        sources: { github: github() },
        handlers: () => { throw new Error("no such handlers"); },
      });`;
    await writeFile(config, text);
    const env = { MILLRACE_CONFIG: config, DATABASE_URL: database.url };
    running = startMillrace(dataDir, env, ["--workers", "1"]);
    expect(await running.ended).toBe(1);
    expect(running.output()).not.toContain("started again");
    expect(running.output()).toMatch(
      /^millrace: Cannot load the handlers: no such handlers \(.*broken\.config\.ts:\d+:\d+\) \(handlers_not_loaded\)$/m,
    );
  });

  test("says that its folder cannot be made, and how to choose another", async () => {
    const file = join(dataDir, "a-file");
    await writeFile(file, "");
    const { code, output } = await refusedStart(dataDir, { MILLRACE_DATA_DIR: join(file, "data") });
    expect(code).toBe(1);
    expect(output).toMatch(
      /^millrace: Cannot keep data in .*ENOTDIR.*MILLRACE_DATA_DIR \(invalid_config\)\nSee docs\/errors.md#invalid_config\n$/,
    );
  });

  test("says that its HOST is not this machine's", async () => {
    const { code, output } = await refusedStart(dataDir, {
      HOST: "192.0.2.1",
      DATABASE_URL: database.url,
    });
    expect(code).toBe(1);
    expect(output).toContain("HOST is no address of this machine (invalid_config)");
  });

  test("says once, before anything runs, that its Redis does not answer", async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const { code, output } = await refusedStart(dataDir, { REDIS_URL: url });
    expect(code).toBe(1);
    expect(output).toMatch(
      /^millrace: Cannot reach Redis: .*ECONNREFUSED.*Check the host and port in REDIS_URL.*\(redis_unreachable\)\nSee .*\n$/,
    );
  });

  test("says how many connections it would take", async () => {
    const env = { DATABASE_URL: database.url };
    const { code, output } = await refusedStart(dataDir, env, ["--workers", "64"]);
    expect(code).toBe(1);
    expect(output).toMatch(/connections.*\(too_many_connections\)$/m);
  });
});
