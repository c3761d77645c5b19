import { afterEach, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { openTestCommand } from "./cli-fixture.ts";

onOneBackend("millrace pause and resume", (prepare) => {
  const stores = openForAll(async () => openTestCommand(await prepare()));
  const run = (...args: string[]) => stores.run(...args);
  afterEach(() => run("resume", "--all"));

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

  test.each([
    [["stranger"], "unknown_source"],
    [["acme", "stranger"], "unknown_source"],
    [[], "invalid_request"],
  ])("%j is refused, and nothing is paused", async (args, code) => {
    const { code: exit, stderr } = await run("pause", ...args);
    expect(stderr).toContain(`(${code})`);
    expect(exit).toBe(1);
    expect(await paused()).toEqual([]);
  });
});
