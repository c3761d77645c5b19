import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openTestStores, type TestStores } from "../support/stores-fixture.ts";
import { onOneBackend } from "../support/backends.ts";
import { environmentOf } from "../support/server-urls.ts";
import { millrace } from "../support/run-in-process.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/doctor/millrace.config.ts", import.meta.url));

onOneBackend("millrace pause and resume", (prepare) => {
  let stores: TestStores;
  beforeAll(async () => {
    stores = await openTestStores(await prepare());
  });
  afterEach(() => run("resume", "--all"));
  afterAll(() => stores?.close());

  const run = (...args: string[]) =>
    millrace(args, { env: { MILLRACE_CONFIG: CONFIG, ...environmentOf(stores.servers) } });
  const paused = async () => {
    const counts = await stores.queues.counts();
    return [...counts].filter(([, { paused: is }]) => is).map(([source]) => source);
  };

  test.each([
    [["acme"], ["acme"]],
    [
      ["acme", "patient"],
      ["acme", "patient"],
    ],
    [["--all"], ["acme", "patient"]],
    [
      ["--provider", "standard-webhooks"],
      ["acme", "patient"],
    ],
  ])("%j pauses %j, and resume undoes it", async (args, sources) => {
    const done = await run("pause", ...args);
    expect(done).toMatchObject({
      code: 0,
      stdout: sources.map((source) => `paused ${source}\n`).join(""),
    });
    expect(await paused()).toEqual(sources);
    await run("resume", ...args);
    expect(await paused()).toEqual([]);
  });

  test("a dry run names them, and changes nothing", async () => {
    const { stdout } = await run("pause", "--all", "--dry-run");
    expect(stdout).toBe("would pause acme\nwould pause patient\n");
    expect(await paused()).toEqual([]);
  });

  test.each([
    [["stranger"], "unknown_source"],
    [["acme", "stranger"], "unknown_source"],
    [["--provider", "paypal"], "unknown_source"],
    [[], "invalid_request"],
  ])("%j is refused, and nothing is paused", async (args, code) => {
    const { code: exit, stderr } = await run("pause", ...args);
    expect(stderr).toContain(`(${code})`);
    expect(exit).toBe(1);
    expect(await paused()).toEqual([]);
  });
});
